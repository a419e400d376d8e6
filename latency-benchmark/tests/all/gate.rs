//! `--gate`: counts that do not vary, of two programs.

use std::fs;
use std::process::Output;

use swarm_patch::package::upstream_manifest;
use swarm_patch::pristine;

use crate::bench::{Bench, Row, complaint, node_program, table, text};

/// The cells that are counted soonest. Callgrind would take long with a program that is not optimised.
const SMALL: [&str; 7] = [
    "--peers",
    "1",
    "--payload",
    "16KiB",
    "--security",
    "plaintext",
    "--no-instructions",
];

fn gate(bench: &Bench, arguments: &[&str]) -> Output {
    let mut sweep = bench.command(&["sweep", "--gate", "--name", "run"]);
    sweep.arg("--out").arg(bench.out()).args(arguments);
    sweep.output().unwrap()
}

/// Compares two budgets of this workspace's program, which no subject has to be built for. It has the thread of
/// futures-timer, which disturbs requests, as each of them has a timer.
fn budgets(bench: &Bench, head: &str, more: &[&str]) -> Output {
    let node = node_program("libp2p-node-gate");
    let node = ["--workload", "stream", "--node", node.to_str().unwrap()];
    let compared = ["--budget", "connection=128", "--budget", head];
    gate(bench, &[&SMALL[..], &node, &compared, more].concat())
}

/// What a gate printed that ended with that exit code.
fn printed(output: &Output, code: i32) -> String {
    let said = text(&output.stdout);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}{errors}");
    said
}

#[test]
fn a_budget_that_ends_polls_is_refused_and_one_that_ends_none_changes_no_count() {
    let bench = Bench::new();
    let output = budgets(&bench, "none", &[]);
    let said = printed(&output, 0);
    assert!(
        said.starts_with("**No count changed**, in 3 cells."),
        "{said}"
    );
    let report = fs::read_to_string(bench.run_dir().join("gate.md")).unwrap();
    assert!(said.starts_with(&report), "{said}\n{report}");

    let bench = Bench::new();
    let output = budgets(&bench, "muxer=1", &[]);
    let said = printed(&output, 1);
    assert!(said.contains("`connection`: polls ▲"), "{said}");
    assert!(said.contains("`muxer`: yields ▲"), "{said}");
    // What was counted is there, by site and child.
    let counts = table(&bench.run_dir().join("counts.csv"));
    for (kind, site, child) in [
        ("polls", "connection", "muxing.poll_unpin"),
        ("iterations", "muxer", ""),
        ("wakes", "", ""),
        ("allocations", "muxer", "self.socket.poll_ready_unpin"),
        ("frees", "", ""),
    ] {
        let is_it = |row: &Row| row["kind"] == kind && row["site"] == site && row["child"] == child;
        assert!(counts.iter().any(is_it), "{kind} {site} {child}");
    }
}

#[test]
fn a_rise_that_is_allowed_is_told_and_not_refused() {
    let bench = Bench::new();
    let all =
        "polls,iterations,yields,wakes,superfluous-wakes,allocations,bytes,frees,system-calls";
    let allow = all.split(',').map(|kind| format!("{kind}=1000000"));
    let allow = allow.collect::<Vec<_>>().join(",");
    let output = budgets(&bench, "muxer=1", &["--allow", &allow]);
    let said = printed(&output, 0);
    assert!(said.contains("None rose by more than is allowed"), "{said}");
    assert!(said.contains("`muxer`: yields | 0 →"), "{said}");
}

#[test]
fn a_program_that_fails_is_a_line_of_the_report() {
    let bench = Bench::new();
    let compared = ["--budget", "none", "--budget", "connection=2"];
    let output = gate(
        &bench,
        &[&SMALL[..], &["--node", "/bin/false"], &compared].concat(),
    );
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("**No cell was compared"), "{said}");
    assert!(
        said.contains("- failed: memory, plaintext, request-response, N=1, 16 KiB × 2: base: the program ended with exit code 1"),
        "{said}"
    );
}

#[test]
fn wrong_arguments_are_refused() {
    for (arguments, says) in [
        (&["--budget", "none"][..], "accepted: two --subject"),
        (
            &[
                "--budget", "none", "--budget", "muxer=1", "--budget", "muxer=2",
            ],
            "accepted: two --subject",
        ),
        (&["--stack", "h2"], "--gate counts libp2p only"),
        (
            &["--peers", "3", "--budget", "none", "--budget", "muxer=1"],
            "no cell has these --peers",
        ),
        (
            &["--budget", "none", "--budget", "quic-endpoint=1"],
            "has no site quic-endpoint",
        ),
        (&["--allow", "polls=-1"], "accepted: KIND=RISE"),
        (&["--rtt", "0"], "cannot be used with"),
    ] {
        let bench = Bench::new();
        let complaint = complaint(&gate(&bench, arguments));
        assert!(complaint.contains(says), "{complaint}");
        assert!(!bench.out().exists(), "{arguments:?}");
    }
}

/// A diff that inserts a line before another, which is the nth that has this text.
fn fault(package: &str, file: &str, (before, nth): (&str, usize), inserted: &str) -> String {
    let sources = pristine::find(&upstream_manifest(), &[package]).unwrap();
    let source = fs::read_to_string(sources[0].dir.join(file)).unwrap();
    let lines = source.lines().enumerate();
    let mut found = lines.filter(|(_, line)| line.trim() == before);
    let (at, line) = found.nth(nth).unwrap();
    let at = at + 1;
    format!("--- a/{file}\n+++ b/{file}\n@@ -{at},1 +{at},2 @@\n+{inserted}\n {line}\n")
}

#[test]
#[ignore = "exhaustive: builds four programs"]
fn exhaustive_a_planted_fault_is_found_and_named() {
    let compare = |head: &str| {
        let bench = Bench::new();
        let output = gate(
            &bench,
            &[&SMALL[..], &["--subject", "released", "--subject", head]].concat(),
        );
        (
            output.status.code(),
            text(&output.stdout) + &text(&output.stderr),
        )
    };
    let (code, said) = compare("released");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("**No count changed**, in 6 cells."), "{said}");
    let scratch = tempfile::tempdir().unwrap();
    for (name, diff, named) in [
        (
            "allocation",
            fault(
                "yamux",
                "src/connection.rs",
                ("let stream_id = frame.header().stream_id();", 0),
                "        drop(std::hint::black_box(Box::new(1_u64)));",
            ),
            "`muxer`, own code: allocations ▲",
        ),
        (
            "wake",
            fault(
                "yamux",
                "src/connection.rs",
                ("w.wake()", 4),
                "                    w.wake_by_ref();",
            ),
            "superfluous wakes ▲",
        ),
        (
            "poll",
            fault(
                "libp2p-swarm",
                "src/connection.rs",
                ("match muxing.poll_unpin(cx)? {", 0),
                "            let _ = muxing.poll_unpin(cx)?;",
            ),
            "`connection`, `muxing.poll_unpin`: polls ▲",
        ),
    ] {
        let file = scratch.path().join(name).with_extension("diff");
        fs::write(&file, diff).unwrap();
        let (code, said) = compare(&format!("released+{}", file.display()));
        assert_eq!(code, Some(1), "{name}: {said}");
        assert!(said.contains(named), "{name}: {said}");
    }
}
