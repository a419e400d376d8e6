//! Loads that hurt, each with the smallest budgets: everything that was sent arrives, and each load has its own figures.

use std::fs;
use std::path::PathBuf;

use crate::bench::{
    self, Bench, Row, SMALL, complaint, json, number, signal, succeeds, table, text, words,
};
use nix::sys::signal::Signal::SIGSTOP;

/// A cell that was measured under that load, with and without the smallest budgets.
struct Measured {
    run: PathBuf,
    slices: Vec<Row>,
    _bench: Bench,
}

impl Measured {
    /// A peer that counts otherwise than central ends the run with an error.
    fn delivers_all(&self) -> serde_json::Value {
        let row = json(&self.run.join("run.json"));
        let variants = row["messages"].as_array().unwrap();
        assert_eq!(variants.len(), 2);
        for messages in variants {
            assert_eq!(messages["delivered"], messages["expected"]);
        }
        let delivered = variants
            .iter()
            .map(|messages| messages["delivered"].as_u64().unwrap());
        assert!(delivered.sum::<u64>() > 0, "{variants:?}");
        row
    }
}

/// Measures under two budgets, and checks that each had requests.
fn measured(load: &[&str]) -> Option<Measured> {
    let measured = measured_in(&SMALL, load)?;
    for variant in ["0", "1"] {
        let slices = measured.slices.iter();
        let variant_slices = slices.filter(|row| row["variant"] == variant);
        let requests: u64 = variant_slices.map(|row| number(row, "requests")).sum();
        assert!(requests > 0, "{load:?}: variant {variant}");
    }
    Some(measured)
}

fn measured_in(cell: &[&str], load: &[&str]) -> Option<Measured> {
    let bench = Bench::near()?;
    let budgets = ["--budget", "none", "--budget", "connection=1,muxer=1"];
    let mut sweep = bench.sweep(cell);
    let output = sweep.args(["--rtt", "0", "--no-aa"]).args(budgets);
    succeeds(output.args(load));
    bench.assert_nothing_left();
    let run = bench.runs("run-1").remove(0);
    let slices = table(&run.join("slices.csv"));
    for variant in ["0", "1"] {
        assert!(slices.iter().any(|row| row["variant"] == variant));
    }
    let requests: u64 = slices.iter().map(|row| number(row, "requests")).sum();
    assert!(requests > 0, "{load:?}");
    Some(Measured {
        run,
        slices,
        _bench: bench,
    })
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
    measured.delivers_all();
    let log = fs::read_to_string(measured.run.join("histograms.hlog")).unwrap();
    assert!(log.contains("Tag=last-delivery.s"), "{log}");
}

#[test]
fn a_peer_counts_every_chunk_of_a_stream() {
    if let Some(measured) = measured(&["--workload", "stream"]) {
        measured.delivers_all();
    }
}

#[test]
fn streams_in_both_directions_lose_no_chunk() {
    // Where chunks wait behind full windows, and the machine is busy, none may be answered in the turns of a budget.
    let Some(measured) = measured_in(&SMALL, &["--workload", "duplex"]) else {
        return;
    };
    let row = measured.delivers_all();
    assert!(row.get("stall").is_none());
    let sees_rtt = |row: &Row| row["yamux_rtt_ns"].parse().is_ok_and(|ns: u64| ns > 0);
    assert!(measured.slices.iter().any(sees_rtt));
    // A chunk of central is acknowledged by one of the peer.
    for slice in &measured.slices {
        assert!(number(slice, "bytes") >= 4096 * number(slice, "requests"));
    }
}

#[test]
#[ignore = "exhaustive: a stall shows after 5 s"]
fn exhaustive_a_stall_is_recorded_with_its_variant_and_both_ends() {
    let Some(bench) = Bench::near() else { return };
    let mut sweep = bench.sweep(&words("--peers 2 --rtt 0 --payload 4KiB --workload duplex"));
    sweep.args(words("--no-aa --budget none --budget muxer=1/deferred"));
    let sweep = sweep.args(words("--max-cell-seconds 60 --precision 0.0001ms,0.0001%"));
    let running = sweep.spawn().unwrap();
    let peer = bench.wait_for("peer", 0);
    bench.wait_for_rows("slices.csv");
    signal(peer, SIGSTOP);
    let output = bench::finish(running);
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
    for figure in ["unsent_bytes", "credit_bytes", "unread_bytes"] {
        assert!(stall["central"][figure].is_u64(), "{stall}");
    }
}

#[test]
fn connections_are_opened_and_closed_at_a_rate() {
    let Some(measured) = measured(&["--workload", "handshakes", "--rate", "20"]) else {
        return;
    };
    // Connections that stay would have a ping every 15 s.
    let slices = measured.slices.iter();
    let requests: u64 = slices.map(|row| number(row, "requests")).sum();
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

#[test]
fn every_profile_is_measured_and_loses_nothing() {
    for (profile, parts) in [
        ("validator", 3),
        ("file-sharing", 2),
        ("ping-beside-stream", 2),
    ] {
        let cell = words("--peers 2 --max-cell-seconds 1 --turn 100 --seed 1");
        let file = format!("{}/profiles/{profile}.toml", env!("CARGO_MANIFEST_DIR"));
        let Some(measured) = measured_in(&cell, &["--workload", &file]) else {
            return;
        };
        let row = json(&measured.run.join("run.json"));
        assert_eq!(
            row["config"]["node"]["parts"].as_array().unwrap().len(),
            parts
        );
    }
}

#[test]
fn each_mistake_in_a_profile_is_one_line_with_its_place() {
    let bench = Bench::new();
    let file = bench.out().with_file_name("mine.toml");
    let part = "[[part]]\nworkload = \"rr\"\nsizes = [\"32B\"]\n";
    let with = |line: &str| format!("{part}{line}\n");
    let mut cases = vec![
        (String::new(), "line 1: missing field `part`"),
        ("part = []".to_owned(), "the profile has 0 parts"),
        ("[[part]".to_owned(), "line 1: "),
        (
            with(&with("streams = 300")),
            "line 7: invalid value: integer `300`",
        ),
        (
            with(&with("rate = 1\noutstanding = 1")),
            "the part in line 4: it has both",
        ),
        (
            part.replace("rr", "duplex") + "phase = { from = 0, to = 1, of = 2 }",
            "the part in line 1: phase",
        ),
    ];
    let lines = [
        ("rate = ", "line 4: "),
        ("rat = 1", "line 4: unknown field `rat`, expected one of"),
        ("rate = \"1\"", "line 4: invalid type: string"),
        ("outstanding = 0", "line 4: invalid value: integer `0`"),
        ("peers = [0]", "line 4: invalid value: integer `0`"),
        ("rate = -1", "the part in line 1: rate -1: accepted"),
        ("rate = nan", "the part in line 1: rate NaN: accepted"),
        ("rate = 0.1", "rate 0.1: the workload rr has at least 0.5"),
        (
            "rate = 1\noutstanding = 1",
            "the part in line 1: it has both rate and outstanding",
        ),
        (
            "outstanding = 2",
            "the part in line 1: outstanding: the workload rr has one request",
        ),
        ("peers = [1]", "the first part is measured"),
        ("peers = []", "the part in line 1: it is for no peer"),
        (
            "phase = { from = 2, to = 1, of = 2 }",
            "the part in line 1: phase",
        ),
        (
            "phase = { from = 0, to = 1, of = 1e9 }",
            "the part in line 1: phase",
        ),
    ];
    cases.extend(lines.map(|(line, says)| (with(line), says)));
    let replaced = [
        ("rr", "chat", "line 2: unknown variant `chat`"),
        ("\"32B\"", "", "line 3: there is no size"),
        ("32B", "32", "line 3: payload \"32\" has no unit"),
        ("32B", "32B x 0", "line 3: \"32B x 0\" has no share"),
        ("rr", "idle", "the part in line 1: workload idle"),
        ("32B", "1B", "line 3: 1B is less than 16B"),
    ];
    cases.extend(replaced.map(|(from, to, says)| (part.replace(from, to), says)));
    for (text, says) in cases {
        fs::write(&file, &text).unwrap();
        let mut sweep = bench.sweep(&["--workload", file.to_str().unwrap()]);
        let complaint = complaint(&sweep.output().unwrap());
        assert!(complaint.contains(says), "{text}: {complaint}");
        assert!(complaint.contains("mine.toml"), "{complaint}");
    }
    fs::write(&file, with(&with("peers = [2]"))).unwrap();
    for (arguments, says) in [
        (
            "--peers 1",
            "--peers 1: a part of the profile is for peer 2",
        ),
        (
            "--peers 2 --payload 4KiB",
            "--payload: a profile has its own sizes",
        ),
        (
            "--peers 2 --rate 2",
            "--workload: a profile has its own paces",
        ),
        (
            "--peers 2 --stack h2",
            "--workload: nodes of h2 do not read profiles",
        ),
    ] {
        let mut sweep = bench.sweep(&["--workload", file.to_str().unwrap()]);
        let complaint = complaint(&sweep.args(words(arguments)).output().unwrap());
        assert!(complaint.contains(says), "{arguments}: {complaint}");
    }
}
