//! Writes a grafted crate where a package of the same name compiles it from: its build script calls
//! [`build`], and its `src/lib.rs` includes `$OUT_DIR/src/lib.rs`.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use syn::{Item, UseTree, spanned::Spanned};

use crate::{
    crate_source::{CrateSource, copy_tree},
    graft::graft,
    pristine,
    racing_test::{RacingTest, set_aside},
};

/// The manifest that names the pristine crates.
pub fn upstream_manifest() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("upstream/Cargo.toml")
}

/// The whole of a build script. Stops the build if the pristine source is not as expected.
pub fn build(racing: &[RacingTest]) {
    if let Err(error) = try_build(racing) {
        // Cargo shows a failing build script's standard error.
        eprintln!("error: {error:#}");
        std::process::exit(1);
    }
}

fn try_build(racing: &[RacingTest]) -> Result<()> {
    let name = variable("CARGO_PKG_NAME")?;
    let version = variable("CARGO_PKG_VERSION")?;
    let out_dir = PathBuf::from(variable("OUT_DIR")?);
    let manifest = upstream_manifest();
    println!("cargo::rerun-if-changed={}", manifest.display());
    println!(
        "cargo::rerun-if-changed={}",
        manifest.with_file_name("Cargo.lock").display()
    );

    let source = pristine::find(&manifest, &[&name])?
        .pop()
        .ok_or_else(|| anyhow!("no source"))?;
    println!("cargo::rerun-if-changed={}", source.dir.display());
    if source.version != version {
        bail!(
            "package {name} is of version {version}, but {} names {}",
            manifest.display(),
            source.version
        );
    }
    write(&source, &out_dir)?;
    racing.iter().try_for_each(|test| set_aside(test, &out_dir))
}

fn variable(name: &str) -> Result<String> {
    env::var(name).with_context(|| format!("{name} is set by cargo, for build scripts"))
}

/// Writes the crate's sources and tests to `out`, grafted, and its root so that it can be included.
pub fn write(source: &CrateSource, out: &Path) -> Result<()> {
    let files = graft(source)?;
    for folder in ["src", "tests"] {
        let target = out.join(folder);
        if target.exists() {
            fs::remove_dir_all(&target)
                .with_context(|| format!("cannot empty {}", target.display()))?;
        }
        if source.dir.join(folder).exists() {
            copy_tree(&source.dir.join(folder), &target)?;
        }
    }
    for file in &files {
        fs::write(out.join(&file.file), file.grafted())?;
    }
    make_includable(&out.join("src"))?;
    Ok(())
}

/// Makes a crate's `lib.rs` something that `include!` takes. Only a real root may have inner
/// attributes, so those go. And to the compiler every name in the crate now comes out of a macro,
/// which makes a path into a module ambiguous where a glob import has the module's name as well, so
/// imports from a file's own modules say `self::`.
fn make_includable(src: &Path) -> Result<()> {
    let root = src.join("lib.rs");
    let text =
        fs::read_to_string(&root).with_context(|| format!("cannot read {}", root.display()))?;
    let tree = syn::parse_file(&text).context("src/lib.rs: not a Rust source")?;
    let start = tree
        .items
        .first()
        .map_or(text.len(), |first| first.span().byte_range().start);
    fs::write(&root, &text[start..])?;
    for file in rust_files(src)? {
        let text = fs::read_to_string(&file)?;
        let tree = syn::parse_file(&text)
            .with_context(|| format!("{}: not a Rust source", file.display()))?;
        fs::write(&file, with_self_paths(&text, &tree.items))?;
    }
    Ok(())
}

fn rust_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
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
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for offset in paths {
        out.push_str(&text[at..offset]);
        out.push_str("self::");
        at = offset;
    }
    out.push_str(&text[at..]);
    out
}

/// Where paths begin whose first segment is one of `modules`.
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
