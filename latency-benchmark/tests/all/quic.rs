//! A sweep over QUIC: quinn's drivers are sites, their budgets are in force, and reports are about them.

use std::collections::BTreeSet;

use crate::bench::{Bench, SMALL, every_slice_has_counts, number, succeeds, table};

#[test]
fn the_drivers_of_quic_are_counted_bounded_and_named() {
    let Some(bench) = Bench::near() else { return };
    let asked = [
        "--transport",
        "quic",
        "--rtt",
        "0",
        "--budget",
        "none",
        "--budget",
        "quic-connection=1/deferred",
        "--no-aa",
    ];
    succeeds(bench.sweep(&SMALL).args(asked));

    let run = &bench.runs("run-1")[0];
    let slices = table(&run.join("slices.csv"));
    let mut seen = BTreeSet::new();
    for site in table(&run.join("sites.csv")) {
        let slice = slices.iter().find(|slice| slice["slice"] == site["slice"]);
        // On a busy machine a slice can pass without traffic.
        if number(slice.unwrap(), "requests") == 0 {
            continue;
        }
        let is_bounded = slice.unwrap()["variant"] == "1" && site["site"] == "quic-connection";
        assert_eq!(number(&site, "yielded") > 0, is_bounded, "{site:?}");
        assert!(number(&site, "polls") > 0, "{site:?}");
        assert_eq!(
            site["iterations"].is_empty(),
            site["site"].starts_with("quic-"),
            "{site:?}"
        );
        seen.insert(site["site"].clone());
    }
    let known = [
        "connection",
        "quic-connection",
        "quic-endpoint",
        "swarm",
        "task",
    ];
    assert!(seen.iter().eq(known), "{seen:?}");
    let children = table(&run.join("children.csv"));
    for child in [
        "conn.drive_transmit",
        "endpoint.drive_recv",
        "self.conn.state.lock",
        "self.0.state.lock",
    ] {
        assert!(children.iter().any(|row| row["child"] == child), "{child}");
    }

    every_slice_has_counts(run, &slices);

    let markdown = bench.report();
    for part in [
        "The time beyond 50 µs is that of `ConnectionDriver::poll`",
        "`quic-endpoint` is `EndpointDriver::poll`",
        "`conn.drive_transmit` ",
        "\n| round-trip time that QUIC sees |",
        "\n| datagrams sent at once |",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    let summary = table(&bench.run_dir().join("report/summary.csv"));
    for metric in ["quic_lost_percent", "quic_acks_sent_per_request"] {
        let rows = summary.iter().filter(|row| row["metric"] == metric);
        let values = rows.map(|row| row["value"].parse::<f64>().unwrap());
        assert_eq!(values.filter(|value| *value >= 0.0).count(), 2, "{metric}");
    }
    assert!(!markdown.contains("yamux Active::poll"), "{markdown}");
}
