//! Sweeps of other nodes than libp2p's over TCP: what is not there is absent, and reports name what is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::bench::{
    Bench, Row, SMALL, build_program, can_run, json, number, succeeds, table, value,
};

/// Measures the stack with and without a budget, and reports. `bounded` is its site.
fn sweep(stack: &str, budget: &str, bounded: &str, others: &[&str]) -> Bench {
    if stack != "libp2p" {
        build_program(&format!("{stack}-node"));
    }
    let bench = Bench::new();
    let asked = ["--rtt", "0", "--budget", "none", "--no-aa", "--budget"];
    let mut sweep = bench.sweep(&SMALL);
    let output = sweep.args(["--stack", stack]).args(asked).arg(budget);
    succeeds(output.args(others));

    let manifest = json(&bench.run_dir().join("manifest.json"));
    assert_eq!(manifest["tool"]["node"]["stack"], stack);
    let run = &bench.runs("run-1")[0];
    let slices = table(&run.join("slices.csv"));
    let (mut polls, mut yielded) = (BTreeMap::new(), 0);
    for site in table(&run.join("sites.csv")) {
        let slice = slices.iter().find(|slice| slice["slice"] == site["slice"]);
        let slice = slice.unwrap();
        let is_bounded = site["site"] == bounded && slice["variant"] == "1";
        assert!(is_bounded || number(&site, "yielded") == 0, "{site:?}");
        yielded += number(&site, "yielded");
        let key = (site["site"].clone(), slice["variant"].clone());
        *polls.entry(key).or_insert(0) += number(&site, "polls");
    }
    assert!(yielded > 0, "{bounded} never yielded");
    // Not in each slice: on a busy machine one can pass without a poll.
    assert!(polls.values().all(|polls| *polls > 0), "{polls:?}");

    bench.report();
    bench
}

/// The tables of slices and of sites.
fn tables(bench: &Bench) -> [Vec<Row>; 2] {
    let run = &bench.runs("run-1")[0];
    ["slices.csv", "sites.csv"].map(|name| table(&run.join(name)))
}

/// The report says what the sites are, and names no other. Returns it.
fn reports(bench: &Bench, sites: &str, others: &[&str]) -> String {
    let folder = bench.run_dir().join("report");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let markdown = read("report.md");
    assert!(markdown.contains(sites), "{markdown}");
    for file in [&markdown, &read("index.html"), &read("summary.csv")] {
        for other in others {
            assert!(!file.contains(other), "{other}");
        }
    }
    markdown
}

#[test]
fn sites_of_quic_are_counted_bounded_and_named() {
    if !can_run(false) {
        return;
    }
    let quic = ["--transport", "quic"];
    let bench = sweep(
        "libp2p",
        "quic-connection=1/deferred",
        "quic-connection",
        &quic,
    );
    let [slices, sites] = tables(&bench);
    let known = [
        "connection",
        "quic-connection",
        "quic-endpoint",
        "swarm",
        "task",
    ];
    let found: BTreeSet<&str> = sites.iter().map(|site| &*site["site"]).collect();
    assert!(found.iter().eq(&known), "{found:?}");
    for site in &sites {
        let is_quic = site["site"].starts_with("quic-");
        assert_eq!(site["iterations"].is_empty(), is_quic, "{site:?}");
    }
    let run = bench.only("run-1");
    every_slice_has_counts(&run, &slices);
    let children = table(&run.join("children.csv"));
    for child in [
        "conn.drive_transmit",
        "endpoint.drive_recv",
        "self.conn.state.lock",
        "self.0.state.lock",
    ] {
        assert!(children.iter().any(|row| row["child"] == child), "{child}");
    }
    let named = "`quic-endpoint` is `EndpointDriver::poll`";
    let markdown = reports(&bench, named, &["yamux Active", ",muxer,"]);
    for part in [
        "The time beyond 50 µs is that of `ConnectionDriver::poll`",
        "`conn.drive_transmit` ",
        "\n| round-trip time that QUIC sees |",
        "\n| datagrams sent at once |",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    let summary = table(&bench.run_dir().join("report/summary.csv"));
    for metric in ["quic_lost_percent", "quic_acks_sent_per_request"] {
        let rows = summary.iter().filter(|row| row["metric"] == metric);
        let values = rows.map(|row| value(row, "value"));
        assert_eq!(values.filter(|value| *value >= 0.0).count(), 2, "{metric}");
    }
}

/// Checks that every slice has the counts of nodes that speak QUIC.
fn every_slice_has_counts(run: &Path, slices: &[Row]) {
    let counts = table(&run.join("quic.csv"));
    assert_eq!(counts.len(), slices.len());
    assert!(slices.iter().any(|slice| number(slice, "requests") > 0));
    for (row, slice) in counts.iter().zip(slices) {
        assert_eq!(row["slice"], slice["slice"]);
        // On a busy machine a slice can pass without traffic.
        if number(slice, "requests") == 0 {
            continue;
        }
        let of = |column| number(row, column);
        for counted in ["rtt_ns", "packets_sent", "acks_sent", "acks_received"] {
            assert!(of(counted) > 0, "{counted}: {row:?}");
        }
        // A request is larger than a datagram.
        assert!(of("datagrams_sent") > number(slice, "requests"), "{row:?}");
        // What is lost was sent, in this slice or just before.
        assert!(of("packets_lost") <= of("packets_sent"), "{row:?}");
        // Connections are read one after the other, and calls after them.
        for (calls, datagrams) in [
            ("send_calls", "datagrams_sent"),
            ("receive_calls", "datagrams_received"),
        ] {
            let most = of(datagrams) + of(datagrams) / 10 + 20;
            assert!((1..=most).contains(&of(calls)), "{calls}: {row:?}");
        }
    }
}

#[test]
fn sites_of_http2_are_counted_bounded_and_named() {
    if !can_run(false) {
        return;
    }
    let bench = sweep("h2", "connection=1", "connection", &[]);
    let manifest = json(&bench.run_dir().join("manifest.json"));
    assert_eq!(manifest["config"]["node"]["security"], "plaintext");
    let [slices, sites] = tables(&bench);
    assert_eq!(sites.len(), slices.len(), "one site in each slice");
    for site in &sites {
        let slice = slices.iter().find(|slice| slice["slice"] == site["slice"]);
        let (slice, polls) = (slice.unwrap(), number(site, "polls"));
        assert_eq!(site["site"], "connection");
        assert!(slice["variant"] == "0" || number(site, "iterations") <= polls);
    }
    // Tokio-metrics counted the tasks of the connections, a moment earlier and later.
    let sum = |rows: &[Row], column| rows.iter().map(|row| number(row, column)).sum::<u64>();
    let (polls, monitor) = (sum(&sites, "polls"), sum(&slices, "monitor_task_polls"));
    assert!(polls.abs_diff(monitor) <= polls / 2, "{polls} {monitor}");
    // The page explains all metrics, those of yamux too.
    let others = [
        "libp2p-swarm",
        "Swarm::poll",
        "yamux Active",
        ",muxer,",
        ",task,",
    ];
    reports(&bench, "`connection` is `h2 Connection::poll`", &others);
}

/// Messages of peers have reached central, with their delays, and are counted for each of so many variants.
fn messages(run: &Path, variants: Option<usize>) {
    let found = &json(&run.join("run.json"))["messages"];
    let found = found.as_array();
    assert_eq!(found.map(Vec::len), variants);
    // A busy machine can lose some.
    for messages in found.into_iter().flatten() {
        let [expected, delivered] =
            ["expected", "delivered"].map(|column| messages[column].as_u64());
        assert!(delivered.is_some() && delivered <= expected, "{messages}");
    }
    let peers = table(&run.join("peers.csv"));
    let answered = peers.iter().filter(|peer| number(peer, "requests") > 0);
    assert!(answered.clone().next().is_some(), "{peers:?}");
    for peer in answered {
        assert!(number(peer, "latency_p50_ns") > 0, "{peer:?}");
    }
}

/// Evidence of every kind is about the drivers, too.
fn explains(bench: &Bench) {
    let run = bench.run_dir();
    let short = ["--blocks", "1", "--max-cell-seconds", "1"];
    let mut explain = bench.command(&["explain"]);
    succeeds(explain.arg(&run).args(short));
    let cell = run.join("explain/pl004096_rtt000_n02");
    let missing = json(&cell.join("evidence.json"))["unavailable"].to_string();
    for (name, pass) in [
        ("stacks.csv", "stacks"),
        ("allocations.csv", "allocations"),
        ("timeline.csv", "timeline"),
    ] {
        let rows = table(&cell.join(name));
        let mut driver_rows = rows.iter().filter(|row| row["site"] == "quic-connection");
        let is_there = match name {
            "stacks.csv" => driver_rows.any(|row| row["what"].contains("ConnectionDriver::poll")),
            _ => driver_rows.next().is_some(),
        };
        assert!(is_there || missing.contains(pass), "{name}: {rows:?}");
    }
}

#[test]
#[ignore = "exhaustive: another stack"]
fn exhaustive_sites_of_iroh_are_counted_bounded_and_named() {
    if !can_run(false) {
        return;
    }
    for workload in ["request-response", "stream", "gossipsub"] {
        let is_gossip = workload == "gossipsub";
        let rate: &[&str] = if is_gossip { &["--rate", "50"] } else { &[] };
        let asked = [&["--workload", workload], rate].concat();
        let bench = sweep("iroh", "quic-connection=1", "quic-connection", &asked);
        let manifest = json(&bench.run_dir().join("manifest.json"));
        assert_eq!(manifest["config"]["node"]["transport"], "quic");
        assert_eq!(manifest["config"]["node"]["security"], "tls");
        let [slices, sites] = tables(&bench);
        let expected_sites = if is_gossip { 3 } else { 2 };
        assert_eq!(sites.len(), expected_sites * slices.len());
        // That there are requests, `every_slice_has_counts` checks.
        for slice in &slices {
            assert_eq!(slice["monitor_task_polls"], "");
        }
        let run = &bench.runs("run-1")[0];
        every_slice_has_counts(run, &slices);
        let children = table(&run.join("children.csv"));
        let is_there = |name| children.iter().any(|child| child["child"] == name);
        assert!(is_there("socket.poll_recv") && is_there("self.sender.as_mut().poll_send"));
        assert_eq!(is_there("self.state.handle"), is_gossip);
        messages(run, (workload != "request-response").then_some(2));
        if workload == "request-response" {
            explains(&bench);
        }
        // The page explains all metrics, those of yamux too.
        let others = [
            "libp2p-swarm",
            "Swarm::poll",
            "yamux Active",
            ",muxer,",
            ",task,",
        ];
        reports(
            &bench,
            "`quic-connection` is `ConnectionDriver::poll`",
            &others,
        );
    }
}
