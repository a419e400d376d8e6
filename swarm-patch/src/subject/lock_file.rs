//! Lock files: a build against a subject begins with the versions of ours, so that what differs between
//! subjects is the subject.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

/// Writes our lock file to `to`, with the registry's crates where ours has the grafted ones.
pub(super) fn begin(ours: &Path, to: &Path) -> Result<()> {
    let mut lock = read(&ours.join("Cargo.lock"))?;
    let mut pristine = read(&ours.join("swarm-patch/upstream/Cargo.lock"))?;
    let pristine = packages(&mut pristine)?.clone();
    let all = packages(&mut lock)?;
    // What has no source lies in a folder. Cargo adds those again that still do.
    all.retain(|package| package.contains_key("source"));
    for grafted in crate::sites::PACKAGES {
        let same = |package: &&Table| name(package) == Some(grafted);
        for package in pristine.iter().filter(same) {
            let mut package = package.clone();
            // They are named in the words of the other file.
            package.remove("dependencies");
            all.push(package);
        }
    }
    write(&lock, to)
}

/// Forgets packages, so that cargo looks for them anew.
pub(super) fn forget(path: &Path, names: &[&str]) -> Result<()> {
    let mut lock = read(path)?;
    packages(&mut lock)?.retain(|package| !name(package).is_some_and(|name| names.contains(&name)));
    write(&lock, path)
}

fn name(package: &Table) -> Option<&str> {
    package.get("name").and_then(Item::as_str)
}

fn packages(lock: &mut DocumentMut) -> Result<&mut ArrayOfTables> {
    lock.get_mut("package")
        .and_then(Item::as_array_of_tables_mut)
        .context("a lock file has packages")
}

fn read(path: &Path) -> Result<DocumentMut> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse()
        .with_context(|| format!("cannot parse {}", path.display()))
}

fn write(lock: &DocumentMut, path: &Path) -> Result<()> {
    fs::write(path, lock.to_string()).with_context(|| format!("cannot write {}", path.display()))
}
