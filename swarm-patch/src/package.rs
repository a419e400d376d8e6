//! Writes a grafted crate for a package of the same name. The package's build script calls [`build`], and
//! its `src/lib.rs` includes `$OUT_DIR/src/lib.rs`.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use fs_err as fs;
use syn::spanned::Spanned;
use syn::{Item, UseTree};

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

/// A test of upstream's that depends on which of two clocks goes off first. It sometimes fails on a busy
/// machine, with and without the graft.
#[derive(Clone, Copy, Debug)]
pub struct RacingTest {
    pub file: &'static str,
    /// Its name, which only one function of the file has.
    pub function: &'static str,
    /// Which clocks race.
    pub reason: &'static str,
}

/// The whole build script of a grafted package. Stops the build if the pristine source is not as
/// expected.
pub fn build(racing: &[RacingTest]) {
    if let Err(error) = try_build(racing) {
        // Cargo shows the standard error of a build script that fails.
        eprintln!("error: {error:#}");
        std::process::exit(1);
    }
}

fn try_build(racing: &[RacingTest]) -> Result<()> {
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
    racing.iter().try_for_each(|test| ignore(test, &out_dir))
}

/// Marks the test as ignored in the copy of the crate in `dir`, so that a test may run it by itself and
/// more than once.
fn ignore(test: &RacingTest, dir: &Path) -> Result<()> {
    let path = dir.join(test.file);
    let text = fs::read_to_string(&path)?;
    let RacingTest { file, function, .. } = test;
    let head = format!("fn {function}(");
    let [(at, _)] = text.match_indices(&head).collect::<Vec<_>>()[..] else {
        let found = text.matches(&head).count();
        bail!("{file}: looked for one test {function}, found {found}");
    };
    let (before, after) = text.split_at(text[..at].rfind('\n').map_or(0, |end| end + 1));
    let ignore = format!("#[ignore = {:?}]\n", test.reason);
    Ok(fs::write(&path, [before, &ignore, after].concat())?)
}

fn variable(name: &str) -> Result<String> {
    env::var(name).with_context(|| format!("{name} is set by cargo in build scripts"))
}

/// Writes the crate's sources and tests to `out`, grafted, and its root so that it can be included.
pub fn write(source: &CrateSource, graft: &Graft, out: &Path) -> Result<()> {
    for folder in ["src", "tests"] {
        if source.dir.join(folder).exists() {
            sync::folder(&source.dir.join(folder), &out.join(folder))?;
        }
    }
    for file in &graft.files {
        fs::write(out.join(&file.file), file.grafted())?;
    }
    make_includable(source, out)
}

/// Changes a crate so that `include!` accepts its `lib.rs`. Only a crate root may have inner attributes,
/// so those are removed. To the compiler every name in the crate now comes from a macro. Then a path
/// into a module is ambiguous where a glob import brings in the module's name as well, so imports from a
/// file's own modules get `self::`.
fn make_includable(source: &CrateSource, out: &Path) -> Result<()> {
    let root = out.join("src/lib.rs");
    let text = fs::read_to_string(&root)?;
    let tree = syn::parse_file(&text).context("src/lib.rs: not a Rust source")?;
    let start = tree
        .items
        .first()
        .map_or(text.len(), |first| first.span().byte_range().start);
    fs::write(&root, &text[start..])?;
    for file in source.rust_files()? {
        let file = out.join(file);
        let text = fs::read_to_string(&file)?;
        let tree = syn::parse_file(&text)
            .with_context(|| format!("{}: not a Rust source", file.display()))?;
        fs::write(&file, with_self_paths(&text, &tree.items))?;
    }
    Ok(())
}

fn with_self_paths(text: &str, items: &[Item]) -> String {
    let modules: Vec<String> = items
        .iter()
        .filter_map(|item| match item {
            Item::Mod(module) => Some(module.ident.to_string()),
            _ => None,
        })
        .collect();
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
fn first_segments(tree: &UseTree, modules: &[String], offsets: &mut Vec<usize>) {
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
    if modules.iter().any(|module| segment == module) {
        offsets.push(segment.span().byte_range().start);
    }
}
