//! Temporary git repositories that look like a checkout of libp2p.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scratch::{copy, pristine_source};

/// Runs git in `dir`, without the settings of the user.
pub(crate) fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(dir)
        .args(["-c", "user.name=Somebody", "-c", "user.email=some@body"])
        .args([
            "-c",
            "init.defaultBranch=main",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git is there, since cargo and this repository use it");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository with the crate `libp2p-swarm` and two commits. The first has the tag `first` and the branch
/// `topic/one`, the second is `main`. The file `note` names the commit.
pub(crate) fn repository(dir: &Path, name: &str) -> PathBuf {
    let root = dir.join(name);
    fs::create_dir_all(&root).expect("the folder is ours");
    let source = copy(&pristine_source("libp2p-swarm"), &root);
    fs::rename(&source.dir, root.join("swarm")).expect("the folder is ours");
    fs::write(root.join(".gitignore"), "/target\n").expect("the folder is ours");
    fs::write(root.join("note"), "first\n").expect("the folder is ours");
    git(&root, &["init", "--quiet"]);
    git(&root, &["add", "--all", "--force"]);
    git(&root, &["commit", "--quiet", "--message", "The first"]);
    git(&root, &["tag", "--annotate", "first", "--message", "a tag"]);
    git(&root, &["branch", "topic/one"]);
    fs::write(root.join("note"), "second\n").expect("the folder is ours");
    git(
        &root,
        &[
            "commit",
            "--quiet",
            "--all",
            "--message",
            "The second\n\nIt says more.",
        ],
    );
    root
}

/// Every file below a folder, with its contents.
pub(crate) fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(root: &Path, dir: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(dir).expect("the folder is there") {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() {
                walk(root, &path, files);
            } else {
                let below = path.strip_prefix(root).expect("it is below").to_owned();
                files.insert(below, fs::read(&path).expect("the file can be read"));
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(dir, dir, &mut files);
    files
}
