//! Small sweeps: what is on disk afterwards, and that it agrees with itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::bench::{
    Bench, Row, SMALL, can_run, histograms, json, number, succeeds, table, text, words,
};

fn sweep(bench: &Bench, arguments: &str) -> Output {
    let output = succeeds(bench.sweep(&SMALL).args(words(arguments)));
    bench.assert_nothing_left();
    output
}

#[test]
fn a_run_is_complete_documented_and_agrees_with_itself() {
    let Some(bench) = Bench::near() else { return };
    let output = sweep(
        &bench,
        "--rtt 0 --budget none --budget muxer=1,connection=1",
    );
    assert_eq!(
        text(&output.stdout).trim(),
        bench.run_dir().display().to_string()
    );
    let run = bench.only("run-1");
    let row = json(&run.join("run.json"));
    assert_eq!(
        (row["status"].as_str(), row["cell"].as_str()),
        (Some("ok"), Some("pl004096_rtt000_n02"))
    );
    assert!(
        row["network"]["lab"]["backend"].is_null(),
        "nothing delays at RTT 0"
    );

    let slices = table(&run.join("slices.csv"));
    let sites = table(&run.join("sites.csv"));
    let bands = table(&run.join("bands.csv"));
    let children = table(&run.join("children.csv"));
    assert_eq!(sites.len(), 4 * slices.len());
    let compared: Vec<&Row> = slices
        .iter()
        .filter(|row| row["pass"] == "compare")
        .collect();
    assert_eq!(
        compared.len() as u64,
        3 * row["blocks"].as_u64().unwrap(),
        "a slice of each variant in every block"
    );
    assert!(slices.iter().all(|row| number(row, "requests") > 0));

    // The tables tell the same story.
    for site in &sites {
        let polls = number(site, "polls");
        assert_eq!(
            polls,
            number(site, "ready") + number(site, "pending") + number(site, "yielded")
        );
        assert_eq!(number(site, "lost"), 0);
        let own_bands = bands
            .iter()
            .filter(|band| band["slice"] == site["slice"] && band["site"] == site["site"]);
        let (polls_in_bands, iterations, ns) =
            own_bands.fold((0, 0, 0), |(polls, iterations, ns), band| {
                let of = number(band, "polls");
                (
                    polls + of,
                    iterations + of * number(band, "iterations"),
                    ns + number(band, "ns"),
                )
            });
        assert_eq!(
            (polls_in_bands, iterations, ns),
            (polls, number(site, "iterations"), number(site, "own_ns"))
        );
    }
    // Children are in the slices that ask for them, and take no longer than their site.
    let detailed: Vec<&str> = slices
        .iter()
        .filter(|row| row["pass"] == "children")
        .map(|row| row["slice"].as_str())
        .collect();
    assert_eq!(detailed.len(), 1);
    assert!(
        children
            .iter()
            .all(|child| detailed.contains(&child["slice"].as_str()))
    );
    for site in sites
        .iter()
        .filter(|site| detailed.contains(&site["slice"].as_str()))
    {
        let site_children = children
            .iter()
            .filter(|child| child["site"] == site["site"]);
        assert!(
            site_children.map(|child| number(child, "ns")).sum::<u64>() <= number(site, "own_ns")
        );
    }
    // Uncut, pieces are the polls; cut after each iteration, they are the iterations.
    let bounds = table(&run.join("bounds.csv"));
    assert!(bounds.iter().any(|row| row["budget"] == "muxer=1"));
    for row in &bounds {
        let mut slice_sites = sites
            .iter()
            .filter(|site_row| site_row["slice"] == row["slice"]);
        let site = slice_sites
            .find(|site_row| site_row["site"] == row["site"])
            .unwrap();
        match row["budget"].as_str() {
            "none" => assert_eq!(row["pieces"], site["polls"]),
            "connection=1" | "muxer=1" => assert_eq!(row["pieces"], site["iterations"]),
            _ => assert!(number(row, "pieces") >= number(site, "polls")),
        }
    }
    // A budget of one is one iteration, in the grafted crates too.
    let mut yielded = 0;
    for site in &sites {
        let slice = slices
            .iter()
            .find(|slice| slice["slice"] == site["slice"])
            .unwrap();
        let bounded =
            slice["variant"] == "2" && ["connection", "muxer"].contains(&site["site"].as_str());
        if bounded {
            assert!(number(site, "iterations") <= number(site, "polls"));
            yielded += number(site, "yielded");
        } else {
            assert_eq!(number(site, "yielded"), 0);
        }
    }
    assert!(yielded > 0, "{sites:?}");
    // Tokio-metrics counted the same tasks, a moment earlier and later.
    let task_sites = sites.iter().filter(|site| site["site"] == "task");
    let ours: u64 = task_sites.map(|site| number(site, "polls")).sum();
    let theirs = slices.iter().map(|row| number(row, "monitor_task_polls"));
    let theirs: u64 = theirs.sum();
    assert!(ours.abs_diff(theirs) <= ours / 2, "{ours} {theirs}");

    histograms_hold_what_the_tables_count(&run, &sites, &slices);
    assert!(!run.join("quic.csv").exists());
    let manifest = json(&bench.run_dir().join("manifest.json"));
    assert!(manifest["config"].get("subjects").is_none() && row["config"].get("subject").is_none());
    assert_eq!(
        manifest["tool"]["upstream"][0]["sha256"]
            .as_str()
            .unwrap()
            .len(),
        64
    );
    assert!(
        fs::read_to_string(bench.run_dir().join("edits.diff"))
            .unwrap()
            .contains("probe.child(1);")
    );
}

fn histograms_hold_what_the_tables_count(run: &Path, sites: &[Row], slices: &[Row]) {
    let histograms = histograms(run);
    let counts: BTreeMap<&str, u64> = histograms
        .iter()
        .map(|(tag, histogram)| (&**tag, histogram.len()))
        .collect();
    for site in sites {
        let slice = slices.iter().find(|slice| slice["slice"] == site["slice"]);
        let slice = slice.expect("a slice of the run");
        let pass = match slice["pass"].as_str() {
            "compare" => String::new(),
            pass => format!(".{pass}"),
        };
        let variant = &slice["variant"];
        let tag = format!("{}.s{}.v{variant}{pass}", site["site"], site["slice"]);
        let in_log = counts.get(&*tag).copied().unwrap_or(0);
        assert_eq!(in_log, number(site, "polls"), "{tag}");
    }
    let compared = slices.iter().filter(|slice| slice["pass"] == "compare");
    let requests: u64 = compared.map(|slice| number(slice, "requests")).sum();
    let by_peer: u64 = counts
        .iter()
        .filter(|(tag, _)| tag.starts_with("latency-peer"))
        .map(|(_, count)| count)
        .sum();
    assert_eq!(by_peer, requests);
    for task in ["cotenant-wake.s", "cotenant-timer.s"] {
        let delays = counts.iter().filter(|(tag, _)| tag.starts_with(task));
        assert!(delays.map(|(_, count)| count).sum::<u64>() > 0, "{task}");
    }
}

#[test]
fn delayed_cells_are_as_far_away_as_asked() {
    let Some(bench) = Bench::far() else { return };
    // Only newer kernels steer packets.
    let steers = Path::new("/proc/sys/net/core/rps_default_mask").exists();
    let receive_on = if steers { "receiver" } else { "sender" };
    let delayed = format!("--rtt 5,12.5 --budget none --no-aa --receive-on {receive_on}");
    sweep(&bench, &delayed);
    let runs = bench.runs("run-1");
    assert_eq!(runs.len(), 2);
    for run in runs {
        let row = json(&run.join("run.json"));
        let asked = row["config"]["cell"]["rtt_ms"].as_f64().unwrap();
        assert!(!row["network"]["lab"]["backend"].is_null());
        assert_eq!(row["network"]["lab"]["receive_masks"].is_object(), steers);
        for link in row["network"]["rtt"]["links"].as_array().unwrap() {
            let connects = link["connects_ms"].as_array().unwrap();
            let least = connects
                .iter()
                .filter_map(serde_json::Value::as_f64)
                .fold(f64::INFINITY, f64::min);
            assert!(
                (least - asked).abs() <= (0.03 * asked).max(0.3),
                "{asked}: {least}"
            );
        }
        assert_eq!(row["network"]["rtt"]["congestion_control_central"], "cubic");
    }
}

#[test]
fn every_workload_security_and_transport_runs() {
    if !can_run(false) {
        return;
    }
    for arguments in [
        "--workload stream --runtime multi-thread",
        "--workload gossipsub --rate 20 --security tls",
        "--workload idle --security plaintext",
        "--workload rr --runtime current-thread,event_interval=1,global_queue_interval=3",
        "--rate 50 --workers 2",
        "--transport quic",
        "--transport quic --workload stream",
    ] {
        let bench = Bench::new();
        let budget = match arguments.contains("quic") {
            true => "quic-connection=1/deferred",
            false => "muxer=1/deferred",
        };
        let budgets = format!("--rtt 0 --budget none --budget {budget} --no-aa");
        sweep(&bench, &format!("{arguments} {budgets}"));
        let run = bench.only("run-1");
        let requests: u64 = table(&run.join("slices.csv"))
            .iter()
            .map(|slice| number(slice, "requests"))
            .sum();
        // Pings are seconds apart.
        assert!(requests > 0 || arguments.contains("idle"), "{arguments}");
    }
}

#[test]
#[ignore = "exhaustive: 16 MiB"]
fn exhaustive_the_smallest_and_the_largest_payload_run() {
    let Some(bench) = Bench::near() else { return };
    let mut command = bench.command(&words(
        "sweep --measure-only --peers 1 --rtt 0 --payload 0B,16MiB",
    ));
    command.args(words(
        "--budget none --no-aa --max-cell-seconds 3 --turn 500 --name run --out",
    ));
    succeeds(command.arg(bench.out()));
    assert_eq!(bench.runs("run-1").len(), 2);
}
