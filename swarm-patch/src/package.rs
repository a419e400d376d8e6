//! Writes a grafted crate for a package of the same name. The package's build script calls [`build`], and
//! its `src/lib.rs` includes `$OUT_DIR/src/lib.rs`.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use fs_err as fs;
use syn::spanned::Spanned;
use syn::{Ident, Item, UseTree};

use crate::crate_source::CrateSource;
use crate::graft::{Graft, graft};
use crate::{pristine, sync};

/// The manifest that names the pristine crates.
pub fn upstream_manifest() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("upstream/Cargo.toml")
}

/// The variable of the environment with a folder of changed crates, which tests put in the place of the pristine
/// ones of the same name.
pub const CHANGED: &str = "SWARM_PATCH_CHANGED_CRATES";

/// The whole build script of a grafted package. Stops the build if the pristine source is not as expected. The `racing` tests
/// of upstream's, each with the reason, depend on which of two clocks goes off first. They sometimes fail on a busy machine,
/// with and without the graft.
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
    let changed = env::var_os(CHANGED).map(|dir| Path::new(&dir).join(&name));
    let changed = changed.filter(|dir| dir.exists());
    let source = match &changed {
        Some(dir) => CrateSource::new(&name, &version, dir.clone())?,
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
    let graft = graft(&source)?;
    // An update of the crate must not lose what the results of older ones have.
    if changed.is_none() {
        graft.require_all()?;
    }
    write(&source, &graft, &out_dir)?;
    let mut racing = racing.iter();
    racing.try_for_each(|(test, reason)| ignore(test, reason, &source, &out_dir))
}

/// Marks the test as ignored in the copy of the crate in `dir`, so that another test may run it by itself and
/// more than once.
fn ignore(test: &str, reason: &str, source: &CrateSource, dir: &Path) -> Result<()> {
    let head = format!("fn {test}(");
    let mut found = Vec::new();
    for file in source.rust_files()? {
        let text = fs::read_to_string(dir.join(&file))?;
        found.extend(text.match_indices(&head).map(|(at, _)| (file.clone(), at)));
    }
    let [(file, at)] = &found[..] else {
        bail!("looked for one test {test}, found {}", found.len());
    };
    let mut text = fs::read_to_string(dir.join(file))?;
    let line = text[..*at].rfind('\n').map_or(0, |end| end + 1);
    text.insert_str(line, &format!("#[ignore = {reason:?}]\n"));
    Ok(fs::write(dir.join(file), text)?)
}

fn variable(name: &str) -> Result<String> {
    env::var(name).with_context(|| format!("{name} is set by cargo in build scripts"))
}

/// Writes the crate's sources and tests to `out`, grafted, and changes them so that `include!` accepts its `lib.rs`. Only a
/// crate root may have inner attributes, so those are removed. To the compiler every name in the crate now comes from a
/// macro. Then a path into a module is ambiguous where a glob import brings in the module's name as well, so imports from a
/// file's own modules get `self::`.
pub fn write(source: &CrateSource, graft: &Graft, out: &Path) -> Result<()> {
    for folder in ["src", "tests"] {
        if source.dir.join(folder).exists() {
            sync::folder(&source.dir.join(folder), &out.join(folder))?;
        }
    }
    for file in source.rust_files()? {
        let grafted = graft.files.iter().find(|grafted| grafted.file == file);
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
