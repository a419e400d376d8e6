//! Lock files. A build against a subject begins with the versions of our lock file, so builds differ only in the subject.

use std::path::Path;

use anyhow::{Context, Result};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use crate::edits::read_toml;
use crate::stacks::sites_of;

/// Our lock file with the registry's crates in place of the grafted ones, and without the `replaced` crates. Cargo resolves
/// those again.
pub(super) fn begin(ours: &Path, replaced: &[&str]) -> Result<String> {
    let lock_path = ours.join("Cargo.lock");
    let pristine_path = ours.join("swarm-patch/upstream/Cargo.lock");
    let mut pristine = read_toml(&pristine_path)?;
    let mut lock = read_toml(&lock_path)?;
    let all = packages(&mut lock, &lock_path)?;
    // A package without a source is a folder. Cargo adds the needed folders again.
    all.retain(|package| package.contains_key("source"));
    for package in packages(&mut pristine, &pristine_path)?.iter() {
        if sites_of(name(package)).next().is_some() {
            let mut pristine_entry = package.clone();
            // Its dependencies may have versions that only the other lock file has.
            pristine_entry.remove("dependencies");
            all.push(pristine_entry);
        }
    }
    all.retain(|package| !replaced.contains(&name(package)));
    Ok(lock.to_string())
}

fn name(package: &Table) -> &str {
    package.get("name").and_then(Item::as_str).unwrap_or("")
}

fn packages<'a>(lock: &'a mut DocumentMut, path: &Path) -> Result<&'a mut ArrayOfTables> {
    lock.get_mut("package")
        .and_then(Item::as_array_of_tables_mut)
        .with_context(|| format!("no [[package]] in {}", path.display()))
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    const REGISTRY: &str = "source = \"registry+https://example.org\"\nchecksum = \"0\"\n";

    fn package(name: &str, version: &str, rest: &str) -> String {
        format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{rest}\n")
    }

    #[test]
    fn grafted_crates_are_the_registrys_again_and_replaced_ones_are_gone() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let ours = dir.path();
        let upstream = ours.join("swarm-patch/upstream");
        fs::create_dir_all(&upstream).expect("the folder is ours");
        let lock = [
            package("bytes", "1.0.0", REGISTRY),
            package("lab", "0.1.0", ""),
            package("libp2p", "0.57.1", REGISTRY),
            package("yamux", "0.14.1", "dependencies = [\n \"poll-probe\",\n]\n"),
        ];
        fs::write(ours.join("Cargo.lock"), lock.concat()).expect("the folder is ours");
        let pristine = [
            package("bytes", "2.0.0", REGISTRY),
            package(
                "yamux",
                "0.14.1",
                &format!("{REGISTRY}dependencies = [\n \"bytes\",\n]\n"),
            ),
        ];
        fs::write(upstream.join("Cargo.lock"), pristine.concat()).expect("the folder is ours");

        let locked = |replaced: &[&str]| -> Vec<String> {
            let text = begin(ours, replaced).expect("there is a lock file");
            let mut lock = text.parse().expect("a lock file");
            let packages = packages(&mut lock, Path::new("Cargo.lock"))
                .expect("it has packages")
                .iter();
            let mut locked: Vec<String> = packages
                .map(|package| {
                    assert!(package.contains_key("source"), "{package}");
                    assert!(!package.contains_key("dependencies"), "{package}");
                    let version = package["version"].as_str().expect("it has a version");
                    format!("{} {version}", name(package))
                })
                .collect();
            locked.sort(); // The order of packages means nothing.
            locked
        };
        assert_eq!(
            locked(&[]),
            ["bytes 1.0.0", "libp2p 0.57.1", "yamux 0.14.1"]
        );
        assert_eq!(locked(&["libp2p"]), ["bytes 1.0.0", "yamux 0.14.1"]);
    }
}
