//! Loads that hurt, each with the smallest budgets: everything that was sent arrives, and each load has its own figures.

use std::fs;
use std::path::PathBuf;

use crate::bench::{Bench, SMALL, can_run, eventually, json, number, signal, table, text, words};
use nix::sys::signal::Signal::SIGSTOP;

/// A cell that was measured under that load, with and without the smallest budgets.
struct Measured {
    run: PathBuf,
    _bench: Bench,
}

fn measured(load: &[&str]) -> Option<Measured> {
    if !can_run(false) {
        return None;
    }
    let bench = Bench::new();
    let budgets = ["--budget", "none", "--budget", "connection=1,muxer=1"];
    let mut sweep = bench.sweep(&SMALL);
    let output = sweep.args(["--rtt", "0", "--no-aa"]).args(budgets);
    let output = output.args(load).output().unwrap();
    bench.assert_nothing_left();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let run = bench.runs("run-1").remove(0);
    for variant in ["0", "1"] {
        let slices = table(&run.join("slices.csv"));
        let of_variant = slices.iter().filter(|row| row["variant"] == variant);
        let requests: u64 = of_variant.map(|row| number(row, "requests")).sum();
        assert!(requests > 0, "{load:?}: variant {variant}");
    }
    Some(Measured { run, _bench: bench })
}

#[test]
fn the_number_of_requests_that_saturates_is_found_and_recorded() {
    let Some(measured) = measured(&["--outstanding", "max"]) else {
        return;
    };
    let row = json(&measured.run.join("run.json"));
    assert_eq!(row["config"]["load"]["pace"], "saturating");
    let found = row["outstanding"].as_u64().unwrap();
    assert!(found.is_power_of_two() && found <= 256, "{found}");
}

#[test]
fn every_block_of_a_burst_is_delivered_and_the_last_delivery_is_timed() {
    let Some(measured) = measured(&["--workload", "burst", "--rate", "20"]) else {
        return;
    };
    let row = json(&measured.run.join("run.json"));
    let of_variants = row["messages"].as_array().unwrap();
    assert_eq!(of_variants.len(), 2);
    for messages in of_variants {
        assert!(messages["delivered"].as_u64() > Some(0), "{messages}");
        assert_eq!(messages["delivered"], messages["expected"]);
    }
    let log = fs::read_to_string(measured.run.join("histograms.hlog")).unwrap();
    assert!(log.contains("Tag=last-delivery.s"), "{log}");
}

#[test]
fn streams_in_both_directions_lose_no_chunk() {
    let Some(measured) = measured(&["--workload", "duplex"]) else {
        return;
    };
    let row = json(&measured.run.join("run.json"));
    assert!(row.get("stall").is_none());
    for messages in row["messages"].as_array().unwrap() {
        assert!(messages["delivered"].as_u64() > Some(0), "{messages}");
        assert_eq!(messages["delivered"], messages["expected"]);
    }
    // A chunk of central is acknowledged by one of the peer.
    for slice in table(&measured.run.join("slices.csv")) {
        assert!(number(&slice, "bytes") >= 4096 * number(&slice, "requests"));
    }
}

#[test]
#[ignore = "exhaustive: a stall shows after 5 s"]
fn exhaustive_a_stall_is_recorded_with_its_variant_and_both_ends() {
    if !can_run(false) {
        return;
    }
    let bench = Bench::new();
    let mut sweep = bench.sweep(&words("--peers 2 --rtt 0 --payload 4KiB --workload duplex"));
    sweep.args([
        "--no-aa",
        "--budget",
        "none",
        "--budget",
        "muxer=1/deferred",
    ]);
    let sweep = sweep.args([
        "--max-cell-seconds",
        "60",
        "--precision",
        "0.0001pp,0.0001%",
    ]);
    let running = sweep.spawn().unwrap();
    let peer = bench.wait_for("peer", 0);
    eventually("a slice", || {
        let partial = bench.runs("run-1.partial").pop()?;
        let slices = fs::read_to_string(partial.join("slices.csv")).ok()?;
        (slices.lines().count() > 2).then_some(())
    });
    signal(peer, SIGSTOP);
    let output = running.wait_with_output().unwrap();
    bench.assert_nothing_left();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let row = json(&bench.runs("run-1")[0].join("run.json"));
    assert_eq!(row["status"], "failed");
    let (reason, stall) = (row["reason"].as_str().unwrap(), &row["stall"]);
    let variant = stall["variant"].as_u64().unwrap() as usize;
    let label = row["config"]["variants"][variant]["label"].as_str();
    let begin = format!("under {}, the stream to peer ", label.unwrap());
    assert!(reason.starts_with(&begin), "{reason}");
    assert!(reason.ends_with("the peer does not answer"), "{reason}");
    assert!(stall["other"].is_null());
    assert!(stall["central"]["sent_bytes"].as_u64() > Some(0), "{stall}");
    // The kernel or a buffer of the stream may have taken all of the chunk.
    assert!(stall["central"]["unsent_bytes"].is_u64(), "{stall}");
}

#[test]
fn connections_are_opened_and_closed_at_a_rate() {
    let Some(measured) = measured(&["--workload", "handshakes", "--rate", "20"]) else {
        return;
    };
    // Connections that stay would have a ping every 15 s.
    let slices = table(&measured.run.join("slices.csv"));
    let requests: u64 = slices.iter().map(|row| number(row, "requests")).sum();
    assert!(requests > 4, "{requests}");
}

#[test]
fn requests_are_answered_beside_a_crowd() {
    let Some(measured) = measured(&["--crowd", "8x100us@30%"]) else {
        return;
    };
    let row = json(&measured.run.join("run.json"));
    assert_eq!(row["config"]["runtime"]["crowd"], "8x100us@30%");
}
