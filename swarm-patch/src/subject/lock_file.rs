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
            let mut lock = read(&to).expect("it was written");
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
