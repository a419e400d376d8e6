//! Writes a grafted crate for a package of the same name. The package's build script calls [`build`], and
//! its `src/lib.rs` includes `$OUT_DIR/src/lib.rs`.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use fs_err as fs;
use syn::spanned::Spanned;
use syn::{Ident, Item, UseTree};

use crate::crate_dir::CrateDir;
use crate::graft::{Graft, graft};
use crate::{pristine, sync};

/// The manifest that names the pristine crates.
pub fn upstream_manifest() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("upstream/Cargo.toml")
}

/// The environment variable by which tests name a folder of changed crates. They take the place of the pristine crates with
/// the same names.
pub const CHANGED: &str = "SWARM_PATCH_CHANGED_CRATES";

/// The whole build script of a grafted package. It stops the build if the pristine source is not as expected. `racing` names
/// tests of upstream's, each with the reason, that depend on which of two clocks goes off first. They sometimes fail on a
/// busy machine, with and without the graft, so they are marked as ignored.
pub fn build(racing: &[(&str, &str)]) {
    if let Err(error) = try_build(racing) {
        // Cargo shows the standard error of a build script that fails.
        eprintln!("error: {error:#}");
        std::process::exit(1);
    }
}

fn try_build(racing: &[(&str, &str)]) -> Result<()> {
    let name = variable("CARGO_PKG_NAME")?;
    let version = variable("CARGO_PKG_VERSION")?;
    let out_dir = PathBuf::from(variable("OUT_DIR")?);
    let manifest = upstream_manifest();
    for file in [&manifest, &manifest.with_file_name("Cargo.lock")] {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    println!("cargo::rerun-if-env-changed={CHANGED}");
    let changed = env::var_os(CHANGED)
        .map(|dir| Path::new(&dir).join(&name))
        .filter(|dir| dir.exists());
    let source = match &changed {
        Some(dir) => CrateDir::new(&name, &version, dir.clone())?,
        None => pristine::find(&manifest, &[&name])?
            .pop()
            .ok_or_else(|| anyhow!("cargo found no source of {name}"))?,
    };
    println!("cargo::rerun-if-changed={}", source.dir.display());
    if source.version != version {
        bail!(
            "package {name} is of version {version}, but {} names {}",
            manifest.display(),
            source.version
        );
    }
    let grafted = graft(&source)?;
    // Results for a new release of the crate must have everything that results for older releases have.
    if changed.is_none() {
        grafted.require_all()?;
    }
    write(&source, &grafted, &out_dir)?;
    for (test, reason) in racing {
        ignore(test, reason, &source, &out_dir)?;
    }
    Ok(())
}

/// Marks the test as ignored in the copy of the crate in `dir`. Another test runs it by itself, more than once if need be.
fn ignore(test: &str, reason: &str, source: &CrateDir, dir: &Path) -> Result<()> {
    let head = format!("fn {test}(");
    let mut found = Vec::new();
    for file in source.rust_files()? {
        let text = fs::read_to_string(dir.join(&file))?;
        found.extend(
            text.match_indices(&head)
                .map(|(offset, _)| (file.clone(), offset)),
        );
    }
    let [(file, offset)] = &found[..] else {
        bail!("looked for one test {test}, found {}", found.len());
    };
    let mut text = fs::read_to_string(dir.join(file))?;
    let line = text[..*offset].rfind('\n').map_or(0, |end| end + 1);
    text.insert_str(line, &format!("#[ignore = {reason:?}]\n"));
    Ok(fs::write(dir.join(file), text)?)
}

fn variable(name: &str) -> Result<String> {
    env::var(name).with_context(|| format!("{name} is set by cargo in build scripts"))
}

/// Writes the grafted sources of the crate, and its tests, to `out`. `include!` must accept the crate's `lib.rs`, which takes
/// two changes:
///
/// * The inner attributes of `lib.rs` are removed, because only a crate root may have them.
/// * Imports from a file's own modules get `self::`. To the compiler every name in the crate now comes from a macro, and such
///   a path is ambiguous if a glob import brings in the module's name as well.
pub fn write(source: &CrateDir, graft: &Graft, out: &Path) -> Result<()> {
    for folder in ["src", "tests"] {
        if source.dir.join(folder).exists() {
            sync::folder(&source.dir.join(folder), &out.join(folder))?;
        }
    }
    for file in source.rust_files()? {
        let grafted = graft.files.iter().find(|grafted| grafted.path == file);
        let text = grafted.map_or_else(|| source.read(&file), |file| Ok(file.grafted()))?;
        let tree = syn::parse_file(&text).with_context(|| format!("{file}: not a Rust source"))?;
        let start = match tree.items.first() {
            Some(first) if file == "src/lib.rs" => first.span().byte_range().start,
            _ => 0,
        };
        let text = with_self_paths(&text, &tree.items);
        fs::write(out.join(&file), &text[start..])?;
    }
    Ok(())
}

fn with_self_paths(text: &str, items: &[Item]) -> String {
    let modules = items.iter().filter_map(|item| match item {
        Item::Mod(module) => Some(&module.ident),
        _ => None,
    });
    let modules: Vec<&Ident> = modules.collect();
    let mut paths = Vec::new();
    for item in items {
        if let Item::Use(import) = item
            && import.leading_colon.is_none()
        {
            first_segments(&import.tree, &modules, &mut paths);
        }
    }
    let mut out = text.to_owned();
    for offset in paths.into_iter().rev() {
        out.insert_str(offset, "self::");
    }
    out
}

/// Adds the byte at which each path begins whose first segment is one of `modules`.
fn first_segments(tree: &UseTree, modules: &[&Ident], offsets: &mut Vec<usize>) {
    let segment = match tree {
        UseTree::Path(path) => &path.ident,
        UseTree::Name(name) => &name.ident,
        UseTree::Rename(rename) => &rename.ident,
        UseTree::Group(group) => {
            for tree in &group.items {
                first_segments(tree, modules, offsets);
            }
            return;
        }
        _ => return,
    };
    if modules.contains(&segment) {
        offsets.push(segment.span().byte_range().start);
    }
}
