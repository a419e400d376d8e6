//! The report about explained cells has the figures that were computed on paper, and all its files.

use std::collections::BTreeMap;
use std::fs;

use crate::fixture::evidence::{self, CELL, change};
use crate::fixture::{FixtureCopy, analysis, holds, links, path, replace, seal};
use serde_json::Value;

#[test]
fn without_an_explanation_there_is_no_section() {
    let copy = FixtureCopy::new();
    let text = copy.reported();
    assert!(!text.contains("Why it is slow"), "{text}");
    assert!(!copy.dir().join("report/explain").exists());
}

#[test]
fn figures_are_those_computed_on_paper() {
    let copy = FixtureCopy::explained();
    let text = copy.reported();
    // 600 of 6,600 polls in the slices as they are.
    holds(&text, &["9.09 % of the polls of `Connection::poll`"]);
    // 40 of 100 samples.
    holds(&text, &["40.0 % are in the kernel"]);
    // Innermost frames, 600 samples of the baseline and 480 of the budget.
    holds(
        &text,
        &[
            "| `[kernel] sendto` | 40.0 | 25.0 |",
            "| `yamux::frame::encode` | 32.0 | 40.0 |",
            "| `request_response::Handler::poll` | 18.0 | 22.5 |",
            "| `Connection::poll` | 10.0 | 12.5 |",
            "600 samples",
        ],
    );
    // The clock says 75, 15 and 10 %.
    holds(&text, &["children agree", "the largest difference is +3"]);
    // 22,000 objects of 2.2 MB in 1,100 polls, and by 200 requests.
    holds(
        &text,
        &[
            "| connection | `muxing.poll_unpin` | 20.0 (2000) | 110 (11000) | 20.0 (2000) | 110 (11000) |",
            "| connection | `handler.poll` | 4.00 (40.0) | 22.0 (220) |",
            "| `yamux::frame::encode` | 75.0 | 115200 | 12000000 |",
            "one in 128 objects",
        ],
    );
    // 11 and 10 switches in 1,100 polls, 10 in 100 slow ones; 1,000 in a quarter of a second.
    holds(
        &text,
        &[
            "| `context-switches` | `none` | 0.0191 | 0.100 | 4000 |",
            "The pass `counters` did not record cycles: the machine has no such counter.",
        ],
    );
    // 1,200 and 500 calls in each of six slices of 200 requests and a quarter of a second.
    holds(
        &text,
        &[
            "| `epoll_wait` | 3000 | 300000 | 2.50 (250) | 3000 | 300000 | 2.50 (250) |",
            "| `sendto` | 7200 | 36600 | 6.00 (30.5) |",
            "The throughput without a budget was 800 requests per second in these slices, and 800 in slices that collect nothing.",
        ],
    );
    holds(
        &text,
        &[
            "| 1 | 800 | 2 | 1: `muxing.poll_unpin` 600 µs; 2: `handler.poll` 100 µs; the rest 100 µs |",
        ],
    );
}

#[test]
fn counters_that_take_long_to_read_give_no_counts_by_poll() {
    let copy = FixtureCopy::explained();
    let with = |ns: u32| {
        change(&copy, "evidence.json", |text| {
            let (before, _) = text.split_once("[\"context-switches\"]").unwrap();
            format!("{before}[\"context-switches\"], \"counter_reading_ns\": {ns}}}")
        });
        copy.reported()
    };
    assert!(with(50).contains("| `context-switches` | `none` | 0.0191 | 0.100 | 4000 |"));
    let left_out = with(35_000);
    holds(
        &left_out,
        &[
            "one reading of the counters takes 35.0 µs here",
            "| `context-switches` | `none` | – | – | 4000 |",
        ],
    );
}

#[test]
fn a_difference_between_flamegraph_and_recorded_times_is_reported() {
    let copy = FixtureCopy::explained();
    change(&copy, "stacks.csv", |text| text.replace(",18,\n", ",90,\n"));
    let text = copy.reported();
    holds(
        &text,
        &["**do not agree**", "+37.3 pp [", "for `handler.poll`"],
    );
}

#[test]
fn a_difference_that_may_be_chance_is_not_resolved() {
    let copy = FixtureCopy::explained();
    // Where the clock says 15 %, 3 of 85 samples in every other slice of the baseline, and 90 of 172 in the rest.
    let mut slice = 0;
    change(&copy, "stacks.csv", |text| {
        let line = |line: &str| match line.strip_suffix("::poll\",18,") {
            Some(start) => {
                slice += 1;
                format!("{start}::poll\",{},\n", if slice % 4 == 1 { 3 } else { 90 })
            }
            None => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    });
    holds(&copy.reported(), &["not resolved whether the flamegraph"]);
}

#[test]
fn few_samples_allow_no_claim() {
    let copy = FixtureCopy::explained();
    // 49 of every 100 samples in slow polls are left.
    change(&copy, "stacks.csv", |text| {
        text.replace("[kernel],40,\n", "[kernel],4,\n")
            .replace("encode,32,\n", "encode,17,\n")
    });
    let text = copy.reported();
    holds(
        &text,
        &["294 samples in slow polls of `Connection::poll`: too few for a claim"],
    );
    for claim in ["children agree", "are in the kernel", "innermost frame"] {
        assert!(!text.contains(claim), "{claim}: {text}");
    }
    holds(
        &copy.explain_file(&format!("{CELL}.slow.svg")),
        &["294 samples (too few for a claim), one in 100 µs"],
    );
}

#[test]
fn samples_that_are_rarer_than_asked_for_are_stated() {
    let copy = FixtureCopy::explained();
    let text = copy.reported();
    assert!(!text.contains("was asked for"), "{text}");
    change(&copy, "evidence.json", |text| {
        text.replace(
            "\"stack_interval_ns\": 100000",
            "\"stack_interval_ns\": 10000",
        )
    });
    holds(
        &copy.reported(),
        &["in 101 µs of polls, where one in 10.0 µs was asked for."],
    );
}

#[test]
fn flamegraphs_begin_with_site_and_child_and_are_the_same_again() {
    let copy = FixtureCopy::explained();
    copy.reported();
    let read = |what: &str| copy.explain_file(&format!("{CELL}.{what}.svg"));
    let names = [
        "slow",
        "all",
        "budget-slow",
        "budget-all",
        "budget-all-difference",
    ];
    let first: Vec<String> = names.map(read).to_vec();
    let slow = &first[0];
    holds(
        slow,
        &[
            "Time of slow polls: N=2, RTT 0 ms, 64 KiB, none",
            "600 samples, one in 100 µs, in polls over 50 µs",
            "<title>connection (600 samples, 100.00%)</title>",
            "<title>muxing.poll_unpin (432 samples, 72.00%)</title>",
            "<title>[kernel] sendto (240 samples, 40.00%)</title>",
            "<title>own code (60 samples, 10.00%)</title>",
        ],
    );
    // 157 samples in polls of the connection and the swarm, of six slices; others are left out.
    holds(
        &first[1],
        &["942 samples", "<title>swarm (42 samples, 4.46%)</title>"],
    );
    assert!(!first[1].contains("park") && !first[1].contains("self.socket"));
    // 120 of 822 are 14.60 %; 240 of 942 were as much as 209 of 822.
    holds(
        &first[4],
        &["<title>[kernel] sendto (120 samples, 14.60%; -10.83%)</title>"],
    );
    copy.reported();
    assert!(
        first == names.map(read).to_vec(),
        "the same samples give other bytes"
    );
}

#[test]
fn links_lead_to_files() {
    let copy = FixtureCopy::explained();
    let text = copy.reported();
    let files = links(&text).filter_map(|link| link.strip_prefix("explain/"));
    let links: Vec<&str> = files.collect();
    assert_eq!(links.len(), 8, "{links:?}");
    for link in links {
        assert!(!copy.explain_file(link).is_empty());
    }
    assert!(text.len() < 60_000);
    copy.report(&["--format", "svg", "--link-base", "https://example.org/run"])
        .succeeds();
    let text = copy.text("report.md");
    holds(
        &text,
        &[
            &format!("](https://example.org/run/explain/{CELL}.slow.svg)"),
            "](https://example.org/run/charts/",
        ],
    );
}

#[test]
fn the_trace_has_the_structure_that_viewers_need() {
    let copy = FixtureCopy::explained();
    copy.reported();
    let trace: Value =
        serde_json::from_str(&copy.explain_file(&format!("{CELL}.trace.json"))).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let with_phase = |phase: &str| {
        events
            .iter()
            .filter(|event| event["ph"] == phase)
            .collect::<Vec<_>>()
    };
    let (metadata, complete) = (with_phase("M"), with_phase("X"));
    assert_eq!(
        metadata.len() + complete.len(),
        events.len(),
        "no other phase is there"
    );
    // Three polls of two variants, of five stretches each.
    assert_eq!(complete.len(), 30);
    let named = |what: &str| {
        let named = metadata.iter().filter(|event| event["name"] == what);
        named
            .map(|event| {
                (
                    (event["pid"].as_u64(), event["tid"].as_u64()),
                    event["args"]["name"].as_str().expect("a name"),
                )
            })
            .collect::<BTreeMap<_, _>>()
    };
    let (processes, threads) = (named("process_name"), named("thread_name"));
    assert_eq!((processes.len(), threads.len()), (2, 6));
    holds(processes[&(Some(1), Some(0))], &[CELL, "none"]);
    holds(processes[&(Some(2), Some(0))], &["muxer=1/deferred"]);
    holds(threads[&(Some(1), Some(1))], &["#1: 800 µs"]);
    let slowest = complete
        .iter()
        .filter(|event| event["pid"] == 1 && event["tid"] == 1);
    let number = |event: &Value, key: &str| event[key].as_f64().expect("a number");
    let stretches: Vec<(&str, f64, f64)> = slowest
        .map(|event| {
            let name = event["name"].as_str().expect("a name");
            (name, number(event, "ts"), number(event, "dur"))
        })
        .collect();
    let expected = [
        ("Connection::poll", 0.0, 800.0),
        ("muxing.poll_unpin", 1.0, 600.0),
        ("yamux Active::poll", 1.5, 599.0),
        ("handler.poll", 601.0, 2.0),
        ("handler.poll", 650.0, 100.0),
    ];
    assert_eq!(stretches, expected);
    let table = copy.explain_file(&format!("{CELL}.worst.csv"));
    assert_eq!(table.lines().count(), 7);
}

#[test]
fn a_report_of_what_was_explained_is_verified() {
    let copy = FixtureCopy::explained();
    copy.reported();
    let dir = copy.dir();
    let verify = || analysis(["verify", path(&dir)]);
    let ended = verify();
    ended.succeeds();
    holds(&ended.out, &["11 other files"]);
    let graph = dir.join(format!("report/explain/{CELL}.slow.svg"));
    replace(&graph, "40.00%", "4.00%");
    let ended = verify();
    assert_eq!(ended.code, 1);
    holds(&ended.err, &["slow.svg"]);
    copy.reported();
    change(&copy, "allocations.csv", |text| {
        text.replacen(",4400,", ",9400,", 1)
    });
    seal(&dir);
    assert_eq!(verify().code, 1);
}

#[test]
fn a_cell_without_a_launch_is_a_caveat() {
    let copy = FixtureCopy::explained();
    let other = r#"{"id": "pl004096_rtt000_n02", "rank": 2, "why": "beyond-time-with-delay", "beyond_ms_per_s": 1.0}, {"id""#;
    let about = copy.dir().join("explain/explain.json");
    replace(&about, "{\"id\"", other);
    holds(&copy.reported(), &["`pl004096_rtt000_n02`"]);
    change(&copy, "run.json", |text| {
        text.replacen(
            "\"status\": \"ok\"",
            "\"status\": \"failed\", \"stage\": \"wiring the lab\", \"reason\": \"no namespaces\"",
            1,
        )
    });
    holds(
        &copy.reported(),
        &["`pl065536_rtt000_n02`", "wiring the lab: no namespaces"],
    );
}

#[test]
fn evidence_that_was_unavailable_is_named_and_the_rest_is_there() {
    let copy = FixtureCopy::explained();
    change(&copy, "evidence.json", |text| {
        text.replacen(
            "[{",
            "[{\"evidence\": \"stacks\", \"what\": \"stacks\", \"why\": \"no timer signals\"}, {",
            1,
        )
    });
    fs::remove_file(evidence::dir(&copy).join("stacks.csv")).expect("it was there");
    let text = copy.reported();
    holds(
        &text,
        &[
            "The pass `stacks` did not record stacks: no timer signals.",
            "no evidence of `stacks`",
            "**System calls**",
        ],
    );
    assert!(
        !text.contains("](explain/pl065536_rtt000_n02.slow.svg)"),
        "{text}"
    );
    let flamegraph = format!("report/explain/{CELL}.slow.svg");
    assert!(!copy.dir().join(flamegraph).exists());
}

#[test]
fn lost_evidence_is_a_caveat_if_too_much_is_lost() {
    let copy = FixtureCopy::explained();
    // Of 7,764 samples and as many lost; those in a muxer are those of the connection around it.
    change(&copy, "evidence.json", |text| {
        text.replace(r#""stacks_lost": 0, "#, r#""stacks_lost": 100, "#)
    });
    // Of 2,500 polls in every slice.
    change(&copy, "sites.csv", |text| {
        text.replace(",17000000,0,0,0,0", ",17000000,0,0,40,0")
    });
    let report = copy.reported();
    holds(
        &report,
        &["1.27 % of sampled stacks", "1.57 % of polls were"],
    );
    assert!(!report.contains("% of polls of children"), "{report}");
}
