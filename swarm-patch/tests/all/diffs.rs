//! Diffs insert and change nothing else, and apply.

use std::fs;

use crate::scratch::{copy, folder, git_apply, pristine_source, pristine_sources};
use swarm_patch::diff::{DiffRoot, crate_diff};
use swarm_patch::graft::{GraftedFile, graft};

/// Checks that the whole original is still there, in its order.
fn assert_only_inserts(file: &GraftedFile) {
    let grafted = file.grafted();
    let mut letters = grafted.chars();
    assert!(
        file.original
            .chars()
            .all(|original| letters.any(|letter| letter == original)),
        "{grafted}"
    );
    let insertions = file.insertions.iter();
    let own_lines = insertions.map(|(_, insertion)| insertion.text.matches('\n').count());
    let inserted = grafted.lines().count() - file.original.lines().count();
    assert_eq!(inserted, own_lines.sum::<usize>(), "{}", file.path);
}

#[test]
fn the_whole_graft_only_inserts_and_applies_to_what_cargo_unpacked() {
    let dir = folder();
    let mut diff = String::new();
    let mut sources = pristine_sources();
    sources.push(pristine_source("quinn"));
    for source in &sources {
        copy(source, dir.path());
        diff += &crate_diff(
            &DiffRoot::Registry.prefix(source),
            &graft(source).expect("it is as expected").files,
        );
    }
    git_apply(dir.path(), &diff, &["--check"]).expect("it applies");
    git_apply(dir.path(), &diff, &[]).expect("it applies");
    for source in &sources {
        for file in graft(source).expect("it is as expected").files {
            let path = dir
                .path()
                .join(format!("{}-{}", source.name, source.version))
                .join(&file.path);
            assert_eq!(
                fs::read_to_string(path).expect("it is there"),
                file.grafted(),
                "{}",
                file.path
            );
            assert_only_inserts(&file);
        }
    }
    assert!(
        git_apply(dir.path(), &diff, &["--check"]).is_err(),
        "not a second time"
    );
}
