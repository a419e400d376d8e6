//! Lock files. A build against a subject starts with the versions of our lock file, so that builds differ
//! only in the subject.

use std::path::Path;

use anyhow::{Context, Result};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use crate::checkout::read_toml;
use crate::stacks::STACKS;

/// Our lock file, with the registry's crates in place of the grafted ones. Cargo resolves the `replaced` ones again.
pub(super) fn begin(ours: &Path, replaced: &[&str]) -> Result<String> {
    let grafted = STACKS.map(|stack| stack.packages).concat();
    let mut pristine = read_toml(&ours.join("swarm-patch/upstream/Cargo.lock"))?;
    let mut lock = read_toml(&ours.join("Cargo.lock"))?;
    let all = packages(&mut lock)?;
    // A package without a source is in a folder. Cargo adds the needed ones again.
    all.retain(|package| package.contains_key("source"));
    for package in packages(&mut pristine)?.iter() {
        if grafted.contains(&name(package)) {
            let mut package = package.clone();
            // They may name packages that only the other lock file has.
            package.remove("dependencies");
            all.push(package);
        }
    }
    all.retain(|package| !replaced.contains(&name(package)));
    Ok(lock.to_string())
}

fn name(package: &Table) -> &str {
    package.get("name").and_then(Item::as_str).unwrap_or("")
}

fn packages(lock: &mut DocumentMut) -> Result<&mut ArrayOfTables> {
    let packages = lock.get_mut("package");
    let packages = packages.and_then(Item::as_array_of_tables_mut);
    packages.context("a lock file has packages")
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

        let said = |replaced: &[&str]| -> Vec<String> {
            let lock = begin(ours, replaced).expect("there is a lock file");
            let mut lock = lock.parse().expect("it is one, too");
            let packages = packages(&mut lock).expect("it has packages").clone();
            let words = packages.iter().map(|package| {
                let has = |key: &str| package.contains_key(key);
                let version = package["version"].as_str().expect("it has one").to_owned();
                let name = name(package);
                format!("{name} {version} {} {}", has("source"), has("dependencies"))
            });
            let mut words: Vec<String> = words.collect();
            words.sort(); // Their order means nothing.
            words
        };
        assert_eq!(
            said(&[]),
            [
                "bytes 1.0.0 true false",
                "libp2p 0.57.1 true false",
                "yamux 0.14.1 true false"
            ]
        );
        assert_eq!(
            said(&["libp2p"]),
            ["bytes 1.0.0 true false", "yamux 0.14.1 true false"]
        );
    }
}
