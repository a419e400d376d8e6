//! Small runs of `rr`: libp2p and raw TCP in turns, and what is on disk afterwards.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{
    self, Bench, Row, complaint, histograms, json, number, succeeds, table, text, value,
};

fn rr(bench: &Bench, arguments: &[&str]) -> Command {
    let mut command = bench.command(&["rr", "--name", "run", "--out"]);
    command.arg(bench.out()).args(arguments);
    command
}

#[test]
fn the_two_paths_take_turns_and_leave_each_other_alone() {
    let Some(bench) = Bench::near() else { return };
    let arguments = ["--payload", "64B,1KiB", "--peers", "2", "--seconds", "2"];
    let output = succeeds(rr(&bench, &arguments).args(["--slice", "50", "--seed", "1"]));
    bench.assert_nothing_left();
    assert_eq!(
        text(&output.stdout).trim(),
        bench.run_dir().display().to_string()
    );
    assert!(
        text(&output.stderr).contains("requests per s"),
        "{}",
        text(&output.stderr)
    );
    let manifest = json(&bench.run_dir().join("rr.json"));
    let variants = manifest["config"]["variants"].as_array().unwrap();
    let roles: Vec<_> = variants
        .iter()
        .map(|variant| variant["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["baseline", "control", "candidate"]);
    assert!(!bench.run_dir().join("manifest.json").exists());

    let runs = bench.runs("run-1");
    assert_eq!(runs.len(), 2);
    for (run, payload) in runs.iter().zip([64, 1024]) {
        is_complete(run, payload);
    }
}

fn is_complete(run: &Path, payload: u64) {
    let row = json(&run.join("run.json"));
    assert_eq!(
        (row["status"].as_str(), row["stop"].as_str()),
        (Some("ok"), Some("cap"))
    );
    assert!(row["probe_ns"].is_null(), "no poll is recorded");
    let slices = table(&run.join("slices.csv"));
    assert_eq!(slices.len() as u64, 3 * row["blocks"].as_u64().unwrap());
    let mut orders = BTreeSet::new();
    for block in slices.chunks(3) {
        let order: Vec<&str> = block.iter().map(|slice| &*slice["variant"]).collect();
        let mut variants = order.clone();
        variants.sort_unstable();
        assert_eq!(variants, ["0", "1", "2"]);
        orders.insert(order.join(""));
    }
    assert!(orders.len() > 1, "{orders:?}");

    let histograms = histograms(run);
    let mut by_variant = [0; 3];
    for slice in &slices {
        let requests = number(slice, "requests");
        by_variant[number(slice, "variant") as usize] += requests;
        assert_eq!(number(slice, "lost_entries"), 0);
        assert_eq!(number(slice, "bytes"), 2 * payload * requests);
        // One request of each peer may have begun while the turn settled.
        assert!(number(slice, "requests_begun_before") <= PEERS);
        if requests == 0 {
            continue;
        }
        assert!(number(slice, "central_cpu_ns") > 0, "{slice:?}");

        let latency_ns = &histograms[&format!("latency.s{}.v{}", slice["slice"], slice["variant"])];
        assert_eq!(latency_ns.len(), requests);
        // One request at a time with each peer: in all they cannot take longer than there is time.
        let duration_ns = 1e6 * value(slice, "duration_ms");
        let busy_ns = latency_ns.mean() * requests as f64;
        let longest_ns = latency_ns.max() as f64;
        assert!(
            busy_ns <= PEERS as f64 * (1.01 * duration_ns + longest_ns),
            "{slice:?}"
        );
    }
    assert!(by_variant.iter().all(|count| *count > 0), "{by_variant:?}");
    for table in ["sites.csv", "bands.csv", "children.csv", "turns.csv"] {
        assert_eq!(
            bench::table(&run.join(table)).len(),
            0,
            "no poll is recorded"
        );
    }
}

const PEERS: u64 = 2;

#[test]
fn the_workload_rr_reports_latency_in_a_sweep() {
    let Some(bench) = Bench::near() else { return };
    let mut sweep = bench.sweep(&["--workload", "rr", "--peers", "2", "--rtt", "0", "--no-aa"]);
    sweep.args(["--payload", "64B,1KiB", "--budget", "none"]);
    succeeds(sweep.args(["--max-cell-seconds", "1", "--turn", "100"]));
    let runs: Vec<PathBuf> = bench.runs("run-1");
    assert_eq!(runs.len(), 2);
    for (run, payload) in runs.iter().zip([64, 1024]) {
        for slice in table(&run.join("slices.csv")) {
            let requests = number(&slice, "requests");
            assert_eq!(number(&slice, "bytes"), 2 * payload * requests);
        }
        // On a busy machine a slice can pass without any.
        let mut peers = table(&run.join("peers.csv"));
        peers.retain(|peer| number(peer, "requests") > 0);
        assert!(!peers.is_empty());
        for peer in peers {
            assert!(number(&peer, "latency_p50_ns") > 0, "{peer:?}");
        }
        // At most one request at a time was on its way to each peer.
        let begun_before = |slice: &Row| number(slice, "requests_begun_before") <= 2;
        assert!(table(&run.join("slices.csv")).iter().all(begun_before));
    }
}

const WRONG: &str = r#"
--payload 0B => --payload 0B: the workload rr needs at least 1B
--payload 64B,64B => --payload: 64B is given twice
--peers 0 => --peers 0: a cell has from 1 to 250
--seconds 0 => 0 is not in 1..=86400
--slice 1 => 1 is not in 10..=600000
--security none => --security
--workload rr => --workload
"#;

#[test]
fn wrong_arguments_are_one_line_and_nothing_is_written() {
    let bench = Bench::new();
    let rr = || {
        let mut command = bench.command(&["rr", "--out"]);
        command.arg(bench.out());
        command
    };
    bench.refuses(rr, WRONG);
    let resume = "--resume /nowhere/at-all => --resume: not a sweep that can be continued";
    bench.refuses(|| bench.command(&["rr"]), resume);
    for wrong in [
        "--outstanding 2 => --outstanding: the workload rr",
        "--payload 0B => --payload 0B: the workload rr needs at least 1B",
    ] {
        bench.refuses(|| bench.sweep(&["--workload", "rr"]), wrong);
    }
    let mut beside = bench.sweep(&["--workload", "rr-beside-tcp"]);
    assert!(complaint(&beside.output().unwrap()).contains("rr-beside-tcp"));
}

#[test]
fn a_dry_run_says_what_would_be_measured() {
    let bench = Bench::new();
    let said = text(&succeeds(&mut bench.command(&["rr", "--dry-run"])).stdout);
    for cell in ["pl000064", "pl000256", "pl001024"] {
        assert!(said.contains(&format!("{cell}_rtt000_n01")), "{said}");
    }
}
