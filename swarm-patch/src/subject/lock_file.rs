//! Lock files. A build against a subject starts with the versions of our lock file, so that builds differ
//! only in the subject.

use std::path::Path;

use anyhow::{Context, Result};
use fs_err as fs;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use crate::checkout::{Edit, read_toml, write};
use crate::stacks::STACKS;

/// Writes our lock file to `to`, with the registry's crates in place of the grafted ones.
pub(super) fn begin(ours: &Path, to: &Path) -> Result<()> {
    let mut pristine = read_toml(&ours.join("swarm-patch/upstream/Cargo.lock"))?;
    let pristine = packages(&mut pristine)?.clone();
    let edit = Edit::of_toml(ours.join("Cargo.lock"), |lock| {
        let all = packages(lock)?;
        // A package without a source is in a folder. Cargo adds the needed ones again.
        all.retain(|package| package.contains_key("source"));
        for grafted in STACKS.iter().flat_map(|stack| stack.packages) {
            let same = |package: &&Table| name(package) == Some(grafted);
            for package in pristine.iter().filter(same) {
                let mut package = package.clone();
                // They may name packages that only the other lock file has.
                package.remove("dependencies");
                all.push(package);
            }
        }
        Ok(())
    })?;
    Ok(fs::write(to, edit.after)?)
}

/// Removes packages from a lock file, so that cargo resolves them again.
pub(super) fn forget(path: &Path, names: &[&str]) -> Result<()> {
    let is_kept = |package: &Table| !name(package).is_some_and(|name| names.contains(&name));
    write(&[Edit::of_toml(path.to_owned(), |lock| {
        packages(lock)?.retain(is_kept);
        Ok(())
    })?])
}

fn name(package: &Table) -> Option<&str> {
    package.get("name").and_then(Item::as_str)
}

fn packages(lock: &mut DocumentMut) -> Result<&mut ArrayOfTables> {
    lock.get_mut("package")
        .and_then(Item::as_array_of_tables_mut)
        .context("a lock file has packages")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "source = \"registry+https://example.org\"\nchecksum = \"0\"\n";

    fn package(name: &str, version: &str, rest: &str) -> String {
        format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{rest}\n")
    }

    #[test]
    fn grafted_crates_are_the_registrys_again_and_what_is_forgotten_is_gone() {
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

        let to = ours.join("new.lock");
        let said = || -> Vec<String> {
            let mut lock = read_toml(&to).expect("it was written");
            let packages = packages(&mut lock).expect("it has packages").clone();
            let words = packages.iter().map(|package| {
                let has = |key: &str| package.contains_key(key);
                let name = name(package).expect("it has a name").to_owned();
                let version = package["version"].as_str().expect("it has one").to_owned();
                format!("{name} {version} {} {}", has("source"), has("dependencies"))
            });
            let mut words: Vec<String> = words.collect();
            words.sort(); // Their order means nothing.
            words
        };
        begin(ours, &to).expect("there is a lock file");
        assert_eq!(
            said(),
            [
                "bytes 1.0.0 true false",
                "libp2p 0.57.1 true false",
                "yamux 0.14.1 true false"
            ]
        );
        forget(&to, &["libp2p"]).expect("it is there");
        assert_eq!(
            said(),
            ["bytes 1.0.0 true false", "yamux 0.14.1 true false"]
        );
    }
}
