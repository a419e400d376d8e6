//! Copies of pristine sources that tests may change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use swarm_patch::crate_dir::CrateDir;
use swarm_patch::package::upstream_manifest;
use swarm_patch::stacks::{LIBP2P, STACKS, Stack};
use swarm_patch::{pristine, sync};
use tempfile::TempDir;

/// The pristine sources of libp2p that budgets can patch. Cargo has them, because the build needed them.
pub(crate) fn pristine_sources() -> Vec<CrateDir> {
    let mut sources = sources_of(&LIBP2P);
    sources.retain(|source| source.name != "quinn");
    sources
}

/// The pristine sources of every stack.
pub(crate) fn sources_of_all_stacks() -> Vec<CrateDir> {
    STACKS.into_iter().flat_map(sources_of).collect()
}

fn sources_of(stack: &Stack) -> Vec<CrateDir> {
    pristine::find(&upstream_manifest(), stack.packages).expect("cargo found them for the build")
}

pub(crate) fn pristine_source(package: &str) -> CrateDir {
    let found = sources_of(&LIBP2P)
        .into_iter()
        .find(|source| source.name == package);
    found.expect("it is one of the packages with sites")
}

/// The folder of the nested manifest that names older releases.
pub(crate) fn versions_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/versions")
}

/// Every release that the graft is tested on. None, with a message, if they cannot be downloaded.
pub(crate) fn releases() -> Option<Vec<CrateDir>> {
    match pristine::find(&versions_folder().join("Cargo.toml"), &["libp2p-swarm"]) {
        Ok(sources) => Some(sources),
        Err(error) => missing(&format!("older releases from the registry: {error:#}")),
    }
}

/// Skips a test; in CI it fails instead.
pub(crate) fn missing<T>(what: &str) -> Option<T> {
    assert_ne!(
        std::env::var("CI").as_deref(),
        Ok("true"),
        "missing: {what}"
    );
    println!("skipped, missing: {what}");
    None
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

/// A copy of a source, in a folder of its own in `dir`, that may be edited.
pub(crate) fn copy(source: &CrateDir, dir: &Path) -> CrateDir {
    let target = dir.join(format!("{}-{}", source.name, source.version));
    sync::folder(&source.dir, &target).expect("a source can be copied");
    // This file would say that cargo unpacked the crate there.
    let _ = fs::remove_file(target.join(".cargo-ok"));
    CrateDir::new(&source.name, &source.version, target).expect("the copy is there")
}

/// Replaces text in one of the files of a copy.
pub(crate) fn replace(source: &CrateDir, file: &str, from: &str, to: &str) {
    let text = source.read(file).expect("the file is there");
    assert!(text.contains(from), "{file} has «{from}»");
    fs::write(source.dir.join(file), text.replacen(from, to, 1)).expect("the copy can be written");
}

/// Runs `cargo check` on crates, with the versions in the lock file `lock`. Returns the warnings.
pub(crate) fn cargo_check(
    dir: &Path,
    lock: &Path,
    crates: &[CrateDir],
    with_tokio: bool,
    more: &str,
) -> String {
    let dependencies: String = crates
        .iter()
        .enumerate()
        .map(|(number, source)| {
            let (name, path) = (&source.name, source.dir.display());
            let features = match (name.as_str(), with_tokio) {
                ("libp2p-swarm", true) => r#", features = ["macros", "tokio"]"#,
                _ => "",
            };
            format!("crate-{number} = {{ package = {name:?}, path = \"{path}\"{features} }}\n")
        })
        .collect();
    let manifest = format!(
        "[workspace]\n[package]\nname = \"check\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [lib]\npath = \"lib.rs\"\n[dependencies]\n{dependencies}{more}"
    );
    // The package lies beside the crates. Below it they would be members of its workspace.
    let package = dir.join("check");
    fs::create_dir(&package).expect("the folder is ours");
    fs::write(package.join("Cargo.toml"), manifest).expect("the folder is ours");
    fs::write(package.join("lib.rs"), "").expect("the folder is ours");
    fs::copy(lock, package.join("Cargo.lock")).expect("the lock file is there");
    let output = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("check"),
        )
        .output()
        .expect("cargo runs, since it runs this");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// Runs `git apply` for `diff` in `dir`; with the option `--check` it changes nothing.
pub(crate) fn git_apply(dir: &Path, diff: &str, options: &[&str]) -> Result<(), String> {
    let patch = dir.join("the.diff");
    fs::write(&patch, diff).expect("the folder is ours");
    let output = Command::new("git")
        .current_dir(dir)
        .args(["apply", "--whitespace=error-all"])
        .args(options)
        .arg(&patch)
        .output()
        .expect("git is there, since cargo and this repository use it");
    fs::remove_file(&patch).expect("the folder is ours");
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
