//! The graft works on every release of the list, and the grafted sources compile.

use std::fs;
use std::path::Path;

use crate::scratch::{cargo_check, copy, folder, releases, sources_of_all_stacks, versions_folder};
use swarm_patch::graft::graft;
use swarm_patch::source_tree;
use swarm_patch::stacks::sites_of;

#[test]
fn every_release_has_the_same_sites_and_children() {
    let Some(releases) = releases() else { return };
    let mut versions: Vec<&str> = releases
        .iter()
        .map(|source| source.version.as_str())
        .collect();
    versions.sort_unstable();
    assert_eq!(versions, ["0.45.1", "0.46.0", "0.47.0", "0.48.0"]);
    let children = releases.iter().map(|source| {
        let graft = graft(source).unwrap_or_else(|error| panic!("{}: {error:#}", source.id()));
        graft.require_all().expect("the releases have everything");
        let insertions = graft.files.iter().flat_map(|file| &file.insertions);
        let children = insertions
            .filter_map(|(spec, insertion)| Some((spec.name.to_owned(), insertion.child.clone()?)));
        children.collect::<Vec<(String, String)>>()
    });
    // `inserted_lines.txt` has those of one release.
    let children: Vec<_> = children.collect();
    for (children, source) in children.windows(2).zip(&releases) {
        assert_eq!(children[0], children[1], "{}", source.id());
    }
}

#[test]
#[ignore = "exhaustive: compiles several releases"]
fn exhaustive_every_release_compiles_with_the_graft() {
    let Some(releases) = releases() else { return };
    let probe = Path::new(env!("CARGO_MANIFEST_DIR")).join("poll-probe");
    let dependency = format!("poll-probe = {{ path = \"{}\" }}\n", probe.display());
    let lock = versions_folder().join("Cargo.lock");
    // One at a time, since a lock file cannot have the derive macros of two releases.
    for source in &releases {
        let dir = folder();
        let crates = [copy(source, dir.path())];
        let grafted = source_tree::grafted(&crates[0], &probe)
            .unwrap_or_else(|error| panic!("{}: {error:#}", source.id()));
        for (path, text) in grafted.files {
            fs::write(path, text).expect("the copy can be written");
        }
        let said = cargo_check(dir.path(), &lock, &crates, true, &dependency);
        assert!(!said.contains("unused"), "{}: {said}", source.id());
    }
}

#[test]
fn every_package_here_is_made_of_the_release_that_its_manifest_copies() {
    for source in sources_of_all_stacks() {
        let ours = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(&source.name)
            .join("Cargo.toml");
        let ours: toml_edit::DocumentMut = std::fs::read_to_string(ours)
            .expect("our package")
            .parse()
            .expect("a manifest");
        let theirs: toml_edit::DocumentMut = source
            .read("Cargo.toml")
            .expect("their package")
            .parse()
            .expect("a manifest");
        for field in ["name", "version", "edition"] {
            let value = |manifest: &toml_edit::DocumentMut| {
                manifest["package"][field].as_str().map(str::to_owned)
            };
            assert_eq!(value(&ours), value(&theirs), "{field} of {}", source.id());
        }
        let mut ours_normal = dependencies(ours.as_item());
        let ours_only: &[&str] = match source.name.as_str() {
            "yamux" => &["poll-probe", "tokio"],
            _ => &["poll-probe"],
        };
        ours_normal.retain(|(name, _)| !ours_only.contains(&name.as_str()));
        let mut theirs_normal = dependencies(theirs.as_item());
        // Our manifest may leave out optional dependencies.
        theirs_normal.retain(|dependency| {
            !dependency.1.ends_with("true") || ours_normal.contains(dependency)
        });
        assert_eq!(
            ours_normal,
            theirs_normal,
            "dependencies of {}",
            source.id()
        );
        let native = |manifest: &toml_edit::DocumentMut| {
            let targets = manifest
                .get("target")
                .and_then(|targets| targets.as_table_like());
            targets.map_or(Vec::new(), |targets| {
                let native = targets
                    .iter()
                    .filter(|(target, _)| !target.contains("wasm"));
                native
                    .flat_map(|(_, target)| dependencies(target))
                    .collect()
            })
        };
        assert_eq!(
            native(&ours),
            native(&theirs),
            "native dependencies of {}",
            source.id()
        );
        assert_eq!(
            sites_of(&source.name).count(),
            match source.name.as_str() {
                "libp2p-swarm" => 3,
                "noq" | "quinn" => 2,
                _ => 1,
            }
        );
    }
}

/// Names and required versions, from both forms of a dependency.
fn dependencies(manifest: &toml_edit::Item) -> Vec<(String, String)> {
    let table = manifest
        .get("dependencies")
        .and_then(|table| table.as_table_like());
    let mut found: Vec<(String, String)> = table
        .into_iter()
        .flat_map(|table| table.iter())
        .map(|(name, value)| {
            let field = |key: &str| {
                value.get(key).map(|field| {
                    field
                        .to_string()
                        .replace(char::is_whitespace, "")
                        .replace(",]", "]")
                })
            };
            let version = value
                .as_str()
                .map(|version| format!("{version:?}"))
                .or_else(|| field("version"));
            let details = ["features", "default-features", "optional"]
                .map(|key| field(key).unwrap_or_default());
            (
                name.to_owned(),
                format!("{} {}", version.unwrap_or_default(), details.join(" ")),
            )
        })
        .collect();
    found.sort();
    found
}
