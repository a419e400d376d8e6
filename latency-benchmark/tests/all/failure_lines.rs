//! The lines that a sweep prints when a node or a cell fails, in every stage. `cargo test -p latency-benchmark --test all
//! failure_lines:: -- --nocapture` shows all lines.

use std::thread;

use crate::bench::{Bench, can_run, json, text};

/// Failures: the script of a node (`peer` or `central`), the stage, and words of the reason. `$NODE` is the program
/// that works.
const FAILURES: [(&str, &str, &str, &str); 13] = [
    (
        "peer",
        "exit 3",
        "starting the peers",
        "peer 1 does not listen",
    ),
    (
        "peer",
        "echo 'error: cannot listen on 10.53.1.2' >&2; exit 1",
        "starting the peers",
        "peer 1 does not listen: cannot listen on 10.53.1.2",
    ),
    (
        "peer",
        "echo nowhere; exec sleep 60",
        "connecting",
        "the peer's address nowhere",
    ),
    (
        "peer",
        "echo /ip4/10.53.1.2/tcp/9; exec sleep 60",
        "connecting",
        "dialling failed",
    ),
    (
        "peer",
        "exec 3<&0; mkfifo $0.$$; $NODE peer <&3 >$0.$$ & \
         read line <$0.$$; kill -STOP $!; echo $line; wait",
        "running the cell's process",
        "a peer has been stopped for",
    ),
    (
        "peer",
        "exec 3<&0; $NODE peer <&3 & measuring; kill -STOP $!; wait",
        "running the cell's process",
        "a peer has been stopped for",
    ),
    (
        "peer",
        "(measuring; kill -9 $$) & exec $NODE peer",
        "measuring",
        "peer 1 was killed by signal 9",
    ),
    (
        "central",
        "exit 3",
        "connecting",
        "central ended with exit code 3",
    ),
    (
        "central",
        "echo \"thread 'main' panicked at src/main.rs:1:1:\" >&2; echo oops >&2; exit 101",
        "connecting",
        "central ended with exit code 101: oops",
    ),
    (
        "central",
        "kill -9 $$",
        "connecting",
        "central was killed by signal 9",
    ),
    (
        "central",
        "exit 0",
        "connecting",
        "central ended before it had measured anything",
    ),
    (
        "central",
        "(measuring; kill -9 $$) & exec $NODE central",
        "measuring",
        "central was killed by signal 9",
    ),
    (
        "central",
        "kill -9 $PPID; exec sleep 60",
        "running the cell's process",
        "it was killed by signal 9",
    ),
];

/// Waits until the cell has measured something, however long that takes on a busy machine.
const MEASURING: &str = "measuring() {
    until [ \"$(cat ${0%/*}/results/run/cells/*/*/slices.csv 2>/dev/null | wc -l)\" -gt 1 ]; do sleep 0.1; done
}";

/// The line of a sweep over one cell, its stage, and the reason in `run.json`.
fn failure(bench: &Bench) -> (String, String, String) {
    let mut sweep = bench.sweep(&["--peers", "1", "--rtt", "0", "--payload", "4KiB"]);
    sweep.args(["--budget", "none", "--max-cell-seconds", "30"]);
    sweep.args(["--precision", "0.0001ms,0.0001%", "--node"]);
    sweep.arg(bench.dir.path().join("node"));
    let output = sweep.output().unwrap();
    bench.assert_nothing_left();
    let errors = text(&output.stderr);
    let mut lines = errors.lines().filter(|line| line.contains("FAILED while"));
    let line = lines
        .next()
        .unwrap_or_else(|| panic!("{errors}"))
        .to_owned();
    assert_eq!(lines.next(), None);
    let row = json(&bench.runs("run-1")[0].join("run.json"));
    let field = |name: &str| row[name].as_str().unwrap().to_owned();
    (line, field("stage"), field("reason"))
}

#[test]
fn every_failure_is_one_line_that_names_who_failed_and_why() {
    if !can_run(false) {
        return;
    }
    // No script is being written when the first sweep starts its processes. Most of the time is waiting.
    let nodes = FAILURES.map(|(verb, script, ..)| {
        let bench = Bench::new();
        bench.with_node(verb, &format!("{MEASURING}\n{script}"));
        bench
    });
    let all = nodes.map(|bench| thread::spawn(move || failure(&bench)));
    for (failing, (_, script, stage, words)) in all.into_iter().zip(FAILURES) {
        let (line, stage_was, reason) = failing.join().unwrap();
        println!("{line}");
        assert_eq!(stage_was, stage, "{script}: {line}");
        assert!(reason.contains(words), "{script}: {line}");
        for flaw in [
            "\n", "::", ": :", ":;", "()", "\"\"", "..", " ;", "Os {", "Error(",
        ] {
            assert!(!reason.contains(flaw), "{flaw:?} in {line}");
        }
        assert!(!reason.ends_with([':', ';', ' ']), "{line}");
    }
}
