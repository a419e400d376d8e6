//! A sweep of nodes that speak HTTP/2: what is not there is absent, and reports name what is.
#![allow(clippy::unwrap_used)]

mod bench;

use std::{fs, path::Path, process::Command};

use bench::{Bench, PROGRAM, SMALL, analysis, can_run, json, number, table, text};

/// `cargo test --workspace` has built the node program.
fn build_node() {
    if !Path::new(PROGRAM).with_file_name("h2-node").is_file() {
        let mut cargo = Command::new(env!("CARGO"));
        let status = cargo.args(["build", "--package", "h2-node"]).status();
        assert!(
            status.unwrap().success(),
            "the node program cannot be built"
        );
    }
}

#[test]
fn sites_of_http2_are_counted_bounded_and_named() {
    if !can_run(false) {
        return;
    }
    build_node();
    let bench = Bench::new();
    let asked = [
        "--stack",
        "h2",
        "--rtt",
        "0",
        "--budget",
        "none",
        "--budget",
        "connection=1",
        "--no-aa",
    ];
    let output = bench.sweep(&SMALL).args(asked).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));

    let manifest = json(&bench.run_dir().join("manifest.json"));
    assert_eq!(manifest["tool"]["node"]["stack"], "h2");
    assert_eq!(manifest["config"]["node"]["security"], "plaintext");
    let run = &bench.runs("run-1")[0];
    let (slices, sites) = (
        table(&run.join("slices.csv")),
        table(&run.join("sites.csv")),
    );
    assert_eq!(sites.len(), slices.len(), "one site in each slice");
    for site in &sites {
        let slice = slices.iter().find(|it| it["slice"] == site["slice"]);
        let (slice, polls) = (slice.unwrap(), number(site, "polls"));
        assert_eq!(site["site"], "connection");
        assert_eq!(number(site, "yielded") > 0, slice["variant"] == "1");
        assert!(slice["variant"] == "0" || number(site, "iterations") <= polls);
        // Tokio-metrics counted the tasks of the connections, a moment earlier and later.
        let monitor = number(slice, "monitor_task_polls");
        assert!(
            polls.abs_diff(monitor) <= 50 + polls / 5,
            "{polls} {monitor}"
        );
    }

    let mut report = Command::new(analysis());
    let reported = report.arg("report").arg(bench.run_dir()).output().unwrap();
    assert!(reported.status.success(), "{}", text(&reported.stderr));
    let folder = bench.run_dir().join("report");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let markdown = read("report.md");
    assert!(
        markdown.contains("`connection` is `h2 Connection::poll`"),
        "{markdown}"
    );
    for file in [markdown, read("index.html"), read("summary.csv")] {
        for other in ["libp2p-swarm", "Swarm::poll", "yamux", ",muxer,", ",task,"] {
            assert!(!file.contains(other), "{other}");
        }
    }
}
