//! Runs the command as a user does.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::scratch::{copy, folder, git_apply, pristine_source, replace};

pub(crate) fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_swarm-patch"))
        .args(arguments)
        .output()
        .expect("the command was built for this test")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn printed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

pub(crate) fn complaint(arguments: &[&str], code: i32) -> String {
    let output = run(arguments);
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let complaint = text(&output.stderr);
    assert_eq!(complaint.lines().count(), 1, "{arguments:?}: {complaint}");
    assert!(complaint.starts_with("error: "), "{complaint}");
    complaint
}

#[test]
fn sites_lists_the_levels_and_the_inserted_code() {
    let table = printed(&["sites"]);
    let mut rows = table.lines().skip_while(|row| !row.is_empty()).skip(1);
    assert_eq!(
        table
            .lines()
            .take_while(|row| row.ends_with("measured") || row.starts_with("CRATE"))
            .count(),
        22,
        "{table}"
    );
    assert_eq!(
        rows.next()
            .expect("a heading")
            .split_whitespace()
            .collect::<Vec<_>>(),
        ["CRATE", "FILE", "LINE", "SITE", "MARK", "CHILD"]
    );
}

#[test]
fn a_diff_is_of_a_budget_or_of_a_crate() {
    assert!(
        printed(&["diff", "--budget", "connection=8"]).contains("+++ b/swarm/src/connection.rs")
    );
    assert!(!printed(&["diff", "--crate", "yamux"]).contains("swarm"));
}

#[test]
fn apply_edits_a_tree_in_place_and_only_once() {
    let dir = folder();
    let source = copy(&pristine_source("yamux"), dir.path());
    let path = dir.path().to_str().expect("a plain path");
    let written = printed(&["apply", path]);
    let mut lines = written.lines();
    let files = lines.by_ref().take_while(|line| !line.is_empty());
    assert_eq!(files.count(), 2, "{written}");
    let levels: Vec<&str> = lines.collect();
    assert!(
        levels.len() == 6 && levels[5].contains("remedies"),
        "{written}"
    );
    assert!(
        source
            .read("src/connection.rs")
            .expect("it is there")
            .contains("::poll_probe::Invocation::enter")
    );
    let manifest: toml_edit::DocumentMut = source
        .read("Cargo.toml")
        .expect("it is there")
        .parse()
        .expect("a manifest");
    let path_of_probe = manifest["dependencies"]["poll-probe"]["path"].as_str();
    let probe = Path::new(path_of_probe.expect("it has a path"));
    assert!(probe.is_relative() && source.dir.join(probe).join("Cargo.toml").is_file());
    assert!(complaint(&["apply", path], 1).contains("applied already"));
}

#[test]
fn apply_writes_nothing_if_any_site_is_not_as_expected() {
    let dir = folder();
    let yamux = copy(&pristine_source("yamux"), dir.path());
    let swarm = copy(&pristine_source("libp2p-swarm"), dir.path());
    replace(
        &swarm,
        "src/connection.rs",
        "    pub(crate) fn poll(\n",
        "    pub(crate) fn drive(\n",
    );
    let before = yamux.read("src/connection.rs").expect("it is there");
    let refusal = complaint(&["apply", dir.path().to_str().expect("a plain path")], 1);
    assert!(refusal.contains("Connection::poll"), "{refusal}");
    assert_eq!(
        yamux.read("src/connection.rs").expect("it is there"),
        before
    );
    assert!(
        !yamux
            .read("Cargo.toml")
            .expect("it is there")
            .contains("poll-probe")
    );
}

#[test]
fn apply_leaves_cargos_own_copies_alone() {
    let own = pristine_source("yamux").dir;
    assert!(
        complaint(&["apply", own.to_str().expect("a plain path")], 1).contains("cargo's own copy")
    );
}

#[test]
fn a_folder_without_the_crates_or_with_two_of_one_is_refused() {
    let dir = folder();
    let path = dir.path().to_str().expect("a plain path");
    for command in [&["apply"][..], &["diff", "--source"]] {
        let complain = |dir| complaint(&[command, &[dir]].concat(), 2);
        assert!(complain(path).contains("no package libp2p-swarm or yamux or quinn in it"));
        assert!(complain("/nowhere/at/all").contains("not a folder"));
    }
    let yamux = copy(&pristine_source("yamux"), dir.path());
    fs::rename(&yamux.dir, dir.path().join("one")).expect("the folder is ours");
    copy(&pristine_source("yamux"), dir.path());
    assert!(complaint(&["diff", "--source", path], 2).contains("yamux is there twice"));
}

#[test]
fn a_checkout_is_found_whatever_its_folders_are_called_and_its_diff_applies_there() {
    let dir = folder();
    let tree = dir.path().join("a path with spaces");
    fs::create_dir_all(&tree).expect("the folder is ours");
    let source = copy(&pristine_source("libp2p-swarm"), &tree);
    fs::rename(&source.dir, tree.join("network")).expect("the folder is ours");
    for base in [dir.path(), &tree, &tree.join("network")] {
        let path = base.to_str().expect("a plain path");
        for more in [&[][..], &["--budget", "connection=8"]] {
            let diff = printed(&[&["diff", "--source", path][..], more].concat());
            git_apply(base, &diff, &["--check"]).expect("it applies");
        }
    }
}

#[test]
fn a_crate_that_a_checkout_lacks_is_refused() {
    let dir = folder();
    copy(&pristine_source("libp2p-swarm"), dir.path());
    let path = dir.path().to_str().expect("a plain path");
    for budget in [&[][..], &["--budget", "muxer=2"]] {
        let arguments = [&["diff", "--crate", "yamux", "--source", path][..], budget].concat();
        assert!(complaint(&arguments, 2).contains("--source: no package yamux in it"));
    }
}

#[test]
fn budgets_without_a_patch_are_refused_in_one_line() {
    for (budget, part) in [
        ("", "--budget: "),
        ("connexion=8", "--budget: "),
        ("none", "nothing to patch"),
        ("quic-connection=5", "nothing to patch"),
    ] {
        let text = complaint(&["diff", "--budget", budget], 2);
        assert!(text.contains(part), "{budget}: {text}");
    }
    let other_crate = ["diff", "--budget", "muxer=2", "--crate", "libp2p-swarm"];
    let text = complaint(&other_crate, 2);
    assert!(text.contains("muxer=2 changes only yamux"), "{text}");
}

#[test]
fn a_budget_of_two_repositories_is_two_diffs_after_a_line_for_each() {
    let heads = |arguments: &[&str]| -> Vec<String> {
        let diff = printed(&[&["diff", "--budget", "task=1,muxer=2/deferred"], arguments].concat());
        let heads = diff.lines().filter(|line| line.starts_with("# "));
        heads.map(str::to_owned).collect()
    };
    let both = heads(&[]);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(both[0].contains("rust-libp2p") && both[1].contains("rust-yamux"));
    assert_eq!(heads(&["--crate", "yamux"]), both[1..]);
    let dir = folder();
    copy(&pristine_source("libp2p-swarm"), dir.path());
    let path = dir.path().to_str().expect("a plain path");
    let one = heads(&["--source", path]);
    assert!(
        one[0] == both[0] && one[1].ends_with("yamux is not in --source"),
        "{one:?}"
    );
}

#[test]
fn findings_show_the_lines_of_the_recommended_patch() {
    let findings = include_str!("../../../latency-benchmark/FINDINGS.md");
    let block = findings.split("```diff\n").nth(1).expect("a diff");
    let shown = block.split("```").next().expect("its end");
    let diff = printed(&["diff", "--budget", "flush=32KiB,muxer=1/deferred"]);
    for part in shown.split("@@\n") {
        assert!(diff.contains(part), "{part}");
    }
}

#[test]
fn wrong_arguments_are_one_line_and_help_is_help() {
    assert!(complaint(&[], 2).contains("sites, diff, apply"));
    assert!(complaint(&["site"], 2).contains("'site'"));
    assert!(complaint(&["diff", "--crate", "tokio"], 2).contains("libp2p-swarm, yamux"));
    assert!(complaint(&["apply"], 2).contains("DIR"));
    let release = ["sites", "--subject", "released@1"];
    assert!(complaint(&release, 2).contains("accepted: a version"));
    let help = printed(&["--help"]);
    assert!(
        help.contains("Examples:") && help.contains("Exit codes:"),
        "{help}"
    );
}
