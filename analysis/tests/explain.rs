//! What a report says of cells that were explained: figures that were computed on paper, planted causes that
//! are found, and a clean launch in which none is.
#![allow(missing_docs)]

mod bench;

use std::{collections::BTreeMap, fs};

use bench::{
    Copy, analysis, edit,
    evidence::{self, BLOCKS, CELL, NORMAL, WARM, add, change, explain, report, set},
    path,
};
use serde_json::Value;

fn explained() -> Copy {
    let copy = Copy::new();
    explain(&copy);
    copy
}

/// A file of the report.
fn file(copy: &Copy, name: &str) -> String {
    let path = copy.dir().join("report/explain").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn holds(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in\n{text}");
    }
}

/// Kinds of what was found, the most severe first.
fn kinds(copy: &Copy) -> Vec<String> {
    report(copy);
    let table = file(copy, "findings.csv");
    let rows = table.lines().skip(1);
    rows.map(|row| row.split(',').nth(1).expect("a kind").to_owned())
        .collect()
}

#[test]
fn without_an_explanation_there_is_no_section() {
    let copy = Copy::new();
    let text = report(&copy);
    assert!(!text.contains("Why it is slow"), "{text}");
    assert!(!copy.dir().join("report/explain").exists());
}

#[test]
fn a_clean_launch_has_no_findings() {
    let copy = explained();
    assert_eq!(kinds(&copy), Vec::<String>::new());
    let text = report(&copy);
    holds(&text, &["### Why it is slow", "No needless work was found"]);
}

#[test]
fn figures_are_those_computed_on_paper() {
    let copy = explained();
    let text = report(&copy);
    // 600 of 6,600 polls in the slices as they are.
    holds(
        &text,
        &["Launched again, 9.09 % of the polls of `Connection::poll` are slow (over 50 µs)."],
    );
    // 3.61 ms of calls in 12 ms of slow polls, less 301 times 200 ns; and 40 of 100 samples.
    let share = 100.0 * 3.61 / (12.0 - 301.0 * 0.0002);
    holds(
        &text,
        &[&format!(
            "Of their time {share:.1} % is spent in system calls, as these were timed; of the stacks sampled in them 40.0 % are in the kernel."
        )],
    );
    // Innermost frames, 600 samples of the baseline and 480 of the budget.
    holds(
        &text,
        &[
            "| `[kernel] sendto` | 40.0 | 25.0 |",
            "| `yamux::frame::encode` | 32.0 | 40.0 |",
            "| `request_response::Handler::poll` | 18.0 | 22.5 |",
            "| `Connection::poll` | 10.0 | 12.5 |",
            "Self share of 600 samples",
        ],
    );
    // The clock says 75, 15 and 10 %.
    holds(
        &text,
        &[
            "Flamegraph and table of children agree",
            "| `muxing.poll_unpin` | 72.0 | 75.0 | −3.00 |",
            "| `handler.poll` | 18.0 | 15.0 | +3.00 |",
            "| `own code` | 10.0 | 10.0 | 0 |",
        ],
    );
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
            "Not seen (counters): cycles",
        ],
    );
    // 1,100 calls in 1,100 polls of 6 ms in all; by request the 1,200 of the task's polls, 6.1 ms, count.
    holds(
        &text,
        &[
            "| `sendto` | 1.00 (5.45) | 6.00 (30.5) |",
            "| `epoll_wait` | 0 (0) | 2.50 (250000) |"
                .replace("250000", "250")
                .as_str(),
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
fn a_difference_of_flamegraph_and_clock_is_told() {
    let copy = explained();
    change(&copy, "stacks.csv", |text| text.replace(",18\n", ",90\n"));
    let text = report(&copy);
    holds(&text, &["**do not agree**", "+37.3 pp, of `handler.poll`"]);
}

/// Student's t at 97.5 % for five degrees of freedom.
const T5: f64 = 2.570_582;

#[test]
fn what_a_warm_core_fixes_is_told_with_its_interval() {
    let copy = explained();
    let text = report(&copy);
    let polls = 1100.0 * BLOCKS as f64;
    let percent = |slow: &[u64]| 100.0 * slow.iter().sum::<u64>() as f64 / polls;
    let (normal, warm) = (percent(&NORMAL), percent(&WARM));
    let gone = normal - warm;
    holds(
        &text,
        &[
            &format!("**Of {normal:.2} % slow polls, {gone:.2} pp ["),
            "go away when the core is kept warm, 30 % of them: no budget fixes those.**",
        ],
    );
    // The interval is at least as wide as chance makes it: two shares of 6,600 polls.
    let of_chance = |share: f64| share * (100.0 - share) / polls;
    let least = 1.96 * (of_chance(normal) + of_chance(warm)).sqrt();
    let most = T5 / 1.96 * 1.2 * least;
    let interval = text
        .split(&format!("{gone:.2} pp ["))
        .nth(1)
        .expect("it was there");
    let interval = interval.split(']').next().expect("an end");
    let ends: Vec<f64> = interval
        .split(", ")
        .map(|end| end.parse().expect("a number"))
        .collect();
    let half = (ends[1] - ends[0]) / 2.0;
    assert!(
        half > 0.75 * least && half < most,
        "{ends:?}: {half} is not from {least} to {most}"
    );
    assert!((ends[0] + half - gone).abs() < 0.02, "{ends:?}");
}

#[test]
fn a_warm_core_that_changes_nothing_is_not_resolved() {
    let copy = explained();
    let slices = evidence::slices();
    let warm = slices.iter().filter(|slice| slice.pass == "warm");
    let warm: BTreeMap<String, u64> = warm
        .map(|slice| {
            (
                slice.number.to_string(),
                NORMAL[5 - (slice.block as usize - 1)],
            )
        })
        .collect();
    change(&copy, "bands.csv", |text| {
        let row = |line: &str| {
            let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
            if let Some(slow) = warm.get(&fields[0]).filter(|_| fields[1] == "connection") {
                fields[4] = match fields[2].as_str() {
                    "0" => (1100 - slow).to_string(),
                    _ => slow.to_string(),
                };
            }
            fields.join(",") + "\n"
        };
        text.lines().map(row).collect()
    });
    holds(
        &report(&copy),
        &["Whether a cold core has a part in it is not resolved: 0.0 pp ["],
    );
}

#[test]
fn flamegraphs_begin_with_site_and_child_and_are_the_same_again() {
    let copy = explained();
    report(&copy);
    let read = |what: &str| file(&copy, &format!("{CELL}.{what}.svg"));
    let names = ["slow", "all", "budget-slow", "budget-all", "difference"];
    let first: Vec<String> = names.map(read).to_vec();
    let slow = &first[0];
    holds(
        slow,
        &[
            "Where the time of slow polls goes: N=2, RTT 0 ms, 64 KiB, none",
            "600 samples, one in 100 µs, in polls over 50 µs",
            "<title>connection (600 samples, 100.00%)</title>",
            "<title>muxing.poll_unpin (432 samples, 72.00%)</title>",
            "<title>[kernel] sendto (240 samples, 40.00%)</title>",
            "<title>own code (60 samples, 10.00%)</title>",
        ],
    );
    // 157 samples in connection's polls and the swarm's, of six slices; what is in no poll or nested is not told.
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
    report(&copy);
    assert!(
        first == names.map(read).to_vec(),
        "the same samples give other bytes"
    );
}

#[test]
fn links_lead_to_files() {
    let copy = explained();
    let text = report(&copy);
    let links: Vec<&str> = text
        .split("](explain/")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    assert_eq!(links.len(), 7, "{links:?}");
    for link in links {
        assert!(!file(&copy, link).is_empty());
    }
    assert!(text.len() < 60_000);
    copy.report(&[
        "--format",
        "svg",
        "--picture",
        "time",
        "--link-base",
        "https://example.org/run",
    ])
    .succeeds();
    let text = fs::read_to_string(copy.dir().join("report/report.md")).expect("a report");
    holds(
        &text,
        &[
            &format!("](https://example.org/run/explain/{CELL}.slow.svg)"),
            "](https://example.org/run/charts/",
        ],
    );
}

#[test]
fn the_trace_has_the_structure_that_viewers_ask_for() {
    let copy = explained();
    report(&copy);
    let trace: Value =
        serde_json::from_str(&file(&copy, &format!("{CELL}.trace.json"))).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let of = |phase: &str| {
        events
            .iter()
            .filter(|it| it["ph"] == phase)
            .collect::<Vec<_>>()
    };
    let (metadata, complete) = (of("M"), of("X"));
    assert_eq!(
        metadata.len() + complete.len(),
        events.len(),
        "no other phase is there"
    );
    // Three polls of two variants, of five stretches each.
    assert_eq!(complete.len(), 30);
    let named = |what: &str| {
        let named = metadata.iter().filter(|it| it["name"] == what);
        named
            .map(|it| {
                (
                    (it["pid"].as_u64(), it["tid"].as_u64()),
                    it["args"]["name"].as_str().expect("a name"),
                )
            })
            .collect::<BTreeMap<_, _>>()
    };
    let (processes, threads) = (named("process_name"), named("thread_name"));
    assert_eq!((processes.len(), threads.len()), (2, 6));
    holds(processes[&(Some(1), Some(0))], &[CELL, "none"]);
    holds(processes[&(Some(3), Some(0))], &["muxer=1/deferred"]);
    holds(threads[&(Some(1), Some(1))], &["#1: 800 µs"]);
    let mut tracks: BTreeMap<(u64, u64), Vec<(f64, f64)>> = BTreeMap::new();
    for event in complete {
        let number = |key: &str| {
            event[key]
                .as_f64()
                .unwrap_or_else(|| panic!("{key} of {event}"))
        };
        assert!(
            event["name"].is_string() && event["cat"].is_string(),
            "{event}"
        );
        assert!(number("ts") >= 0.0 && number("dur") > 0.0);
        let track = (
            event["pid"].as_u64().expect("a pid"),
            event["tid"].as_u64().expect("a tid"),
        );
        assert!(
            threads.contains_key(&(Some(track.0), Some(track.1))),
            "{event}"
        );
        tracks
            .entry(track)
            .or_default()
            .push((number("ts"), number("ts") + number("dur")));
    }
    for (track, stretches) in tracks {
        assert_eq!(stretches[0].0, 0.0, "a poll begins its track");
        let mut open: Vec<(f64, f64)> = Vec::new();
        for stretch in stretches {
            open.retain(|around| around.1 > stretch.0);
            assert!(
                open.iter().all(|around| stretch.1 <= around.1 + 1e-6),
                "{track:?}: {stretch:?} in {open:?}"
            );
            open.push(stretch);
        }
    }
    let table = file(&copy, &format!("{CELL}.worst.csv"));
    assert_eq!(table.lines().count(), 7);
}

#[test]
fn a_handler_that_sleeps_is_the_first_finding() {
    let copy = explained();
    // 50 sleeps of 200 µs in slow polls of 12 ms and 10.25 ms, less 351 times 200 ns.
    add(
        &copy,
        "system_calls.csv",
        "system-calls",
        "connection,handler.poll,100000,clock_nanosleep,50,10000000",
    );
    add(
        &copy,
        "bands.csv",
        "system-calls",
        "connection,200000,1,50,10250000",
    );
    assert_eq!(kinds(&copy), ["sleeping-poll"]);
    let table = file(&copy, "findings.csv");
    holds(
        &table,
        &[
            &format!("{CELL},sleeping-poll,connection,\"handler.poll\",45.09,5,"),
            "`clock_nanosleep`, 200 µs a call",
        ],
    );
    holds(
        &report(&copy),
        &[
            "**Needless work** ([1 found](explain/findings.csv))",
            "**sleeping-poll** (`pl065536_rtt000_n02`): The child `handler.poll` of `Connection::poll` waits",
        ],
    );
}

#[test]
fn a_handler_that_allocates_is_the_first_finding() {
    let copy = explained();
    change(&copy, "allocations.csv", |text| {
        text.replace(",1100,4400,44000", ",1100,11000000,440000000")
    });
    assert_eq!(kinds(&copy), ["allocating-poll"]);
    holds(
        &file(&copy, "findings.csv"),
        &["allocating-poll,connection,\"handler.poll\",10000,1000,"],
    );
}

#[test]
fn a_behaviour_that_wakes_itself_is_the_first_finding() {
    let copy = explained();
    set(&copy, "central_self_wakes", |_| 190);
    set(&copy, "swarm_polls_idle", |_| 390);
    assert_eq!(kinds(&copy), ["self-waking", "idle-polls"]);
    holds(
        &file(&copy, "findings.csv"),
        &[
            "self-waking,swarm,\"\",95,50,",
            "idle-polls,swarm,\"\",97.5,60,",
        ],
    );
}

#[test]
fn tasks_that_spend_their_budget_do_not_count_as_waking_themselves() {
    let copy = explained();
    set(&copy, "task_self_wakes", |_| 900);
    // Each time with something to do.
    assert_eq!(kinds(&copy), Vec::<String>::new());
    set(&copy, "connection_polls_idle", |_| 700);
    assert_eq!(kinds(&copy), ["self-waking"]);
    set(&copy, "task_yields", |_| 600);
    assert_eq!(kinds(&copy), Vec::<String>::new());
}

#[test]
fn dials_of_connected_peers_come_before_the_connections_they_make() {
    let copy = explained();
    set(&copy, "dials", |_| 10);
    set(&copy, "connections", |slice| 2 + slice);
    assert_eq!(
        kinds(&copy),
        [
            "redundant-dials",
            "growing-connections",
            "several-connections"
        ]
    );
    holds(
        &file(&copy, "findings.csv"),
        &["redundant-dials,swarm,\"\",40,0.1,"],
    );
}

#[test]
fn connections_beyond_one_for_each_peer_are_found() {
    let copy = explained();
    set(&copy, "connections", |_| 4);
    assert_eq!(kinds(&copy), ["several-connections"]);
    holds(
        &file(&copy, "findings.csv"),
        &["several-connections,,\"\",2,1,"],
    );
}

#[test]
fn tasks_that_leak_are_the_first_finding() {
    let copy = explained();
    set(&copy, "tasks", |slice| 12 + slice / 2 + slice % 3);
    set(&copy, "resident_bytes", |slice| {
        50_000_000 + 1_000_000 * slice + 4096 * (slice % 5)
    });
    assert_eq!(kinds(&copy), ["growing-tasks", "growing-memory"]);
    // By half a task in 0.3 s.
    holds(&file(&copy, "findings.csv"), &["1.67 ["]);
}

#[test]
fn growth_that_is_small_or_by_chance_is_none() {
    let copy = explained();
    set(&copy, "resident_bytes", |slice| {
        500_000_000 + 100_000 * slice
    });
    set(&copy, "tasks", |slice| 12 + (slice * 7919 % 13));
    assert_eq!(kinds(&copy), Vec::<String>::new());
}

#[test]
fn a_report_of_what_was_explained_is_verified() {
    let copy = explained();
    report(&copy);
    let dir = copy.dir();
    let verify = || analysis(["verify", path(&dir)]);
    let ended = verify();
    ended.succeeds();
    holds(&ended.out, &["8 files of what was explained"]);
    edit(
        &dir.join(format!("report/explain/{CELL}.slow.svg")),
        |text| text.replacen("40.00%", "4.00%", 1),
    );
    let ended = verify();
    assert_eq!(ended.code, 1);
    holds(&ended.err, &["slow.svg: it is not what the run gives"]);
    report(&copy);
    change(&copy, "allocations.csv", |text| {
        text.replacen(",4400,", ",9400,", 1)
    });
    assert_eq!(verify().code, 1);
}

#[test]
fn a_cell_without_a_launch_is_a_caveat() {
    let copy = explained();
    let other = r#"{"id": "pl004096_rtt000_n02", "rank": 2, "why": "slow-ratio", "slow_ms_per_s": 1.0, "slow_percent": 2.0}, {"id""#;
    let about = copy.dir().join("explain/explain.json");
    edit(&about, |text| text.replacen("{\"id\"", other, 1));
    holds(
        &report(&copy),
        &["`pl004096_rtt000_n02` was chosen but not launched (yet)"],
    );
    change(&copy, "run.json", |text| {
        text.replacen(
            "\"status\": \"ok\"",
            "\"status\": \"failed\", \"stage\": \"lab\", \"reason\": \"no namespaces\"",
            1,
        )
    });
    holds(
        &report(&copy),
        &["the launch of `pl065536_rtt000_n02` failed: lab: no namespaces"],
    );
}

#[test]
fn evidence_that_was_unavailable_is_named_and_the_rest_is_there() {
    let copy = explained();
    change(&copy, "evidence.json", |text| {
        text.replacen(
            "[{",
            "[{\"evidence\": \"stacks\", \"what\": \"stacks\", \"why\": \"no timer signals\"}, {",
            1,
        )
    });
    fs::remove_file(evidence::dir(&copy).join("stacks.csv")).expect("it was there");
    holds(
        &report(&copy),
        &[
            "Not seen (stacks): stacks: no timer signals",
            "There are no flamegraphs",
            "**System calls**",
        ],
    );
    assert!(
        !copy
            .dir()
            .join(format!("report/explain/{CELL}.slow.svg"))
            .exists()
    );
}

#[test]
fn what_was_lost_is_told_where_it_is_too_much() {
    let copy = explained();
    // Of 7,764 samples and as many lost; those in a muxer are those of the connection around it.
    change(&copy, "evidence.json", |text| {
        text.replace(r#""stacks_lost": 0, "#, r#""stacks_lost": 100, "#)
            .replace(r#""system_calls_lost": 0"#, r#""system_calls_lost": 20"#)
    });
    // Of 2,500 polls in every slice.
    change(&copy, "sites.csv", |text| {
        text.replace(",17000000,0,0", ",17000000,40,0")
    });
    let report = report(&copy);
    holds(
        &report,
        &[
            "1.27 % of sampled stacks were lost",
            "1.57 % of polls were lost",
        ],
    );
    assert!(!report.contains("of system calls were lost"), "{report}");
    assert!(
        !report.contains("of polls of children were lost"),
        "{report}"
    );
}

#[test]
fn tasks_that_come_from_nothing_have_no_growth_in_percent() {
    let copy = explained();
    set(&copy, "tasks", |slice| (slice / 2).saturating_sub(12));
    assert_eq!(kinds(&copy), ["growing-tasks"]);
    holds(&file(&copy, "findings.csv"), &["growing-tasks,,\"\",,10,"]);
}

#[test]
fn what_could_not_be_seen_is_not_called_clean() {
    let copy = explained();
    change(&copy, "evidence.json", |text| {
        text.replacen("[{", "[{\"evidence\": \"system-calls\", \"what\": \"system calls\", \"why\": \"no ptrace\"}, {", 1)
    });
    fs::remove_file(evidence::dir(&copy).join("system_calls.csv")).expect("it was there");
    holds(
        &report(&copy),
        &["What shows in `system-calls` only was not looked for in every cell."],
    );
}

#[test]
fn one_variant_alone_is_explained_without_a_difference() {
    let copy = explained();
    let about = copy.dir().join("explain/explain.json");
    edit(&about, |text| text.replacen("[0, 2]", "[0]", 1));
    refused(&copy, &["slices.csv", "variant 2"]);
    let other: Vec<String> = evidence::slices()
        .into_iter()
        .filter(|slice| slice.variant != 0)
        .map(|slice| slice.number.to_string())
        .collect();
    for entry in fs::read_dir(evidence::dir(&copy)).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|it| it == "csv") {
            let text = fs::read_to_string(&path).expect("a table");
            let is_kept = |line: &&str| !other.iter().any(|it| line.split(',').next() == Some(it));
            let kept: Vec<&str> = text.lines().filter(is_kept).collect();
            fs::write(&path, kept.join("\n") + "\n").expect("a table");
        }
    }
    let text = report(&copy);
    holds(&text, &["| `[kernel] sendto` | 40.0 |\n"]);
    assert!(!text.contains("difference.svg") && !text.contains("budget-"));
}

/// Refused in one line, and no report.
#[track_caller]
fn refused(copy: &Copy, words: &[&str]) {
    copy.report(&[]).refuses(words);
    assert!(!copy.dir().join("report").exists());
}

#[test]
fn a_folder_that_is_no_explanation_is_refused() {
    let copy = Copy::new();
    fs::create_dir(copy.dir().join("explain")).expect("a folder");
    refused(&copy, &["explain", "no explain.json"]);
    explain(&copy);
    edit(&copy.dir().join("explain/explain.json"), |text| {
        text.replacen("\"schema\": 1", "\"schema\": 9", 1)
    });
    refused(&copy, &["explain.json", "schema 9"]);
}

#[test]
fn tables_that_are_torn_or_foreign_are_refused() {
    type Spoil = fn(String) -> String;
    let cases: [(&str, Spoil, &[&str]); 7] = [
        (
            "stacks.csv",
            |text| text[..text.len() - 3].to_owned(),
            &["stacks.csv", "torn"],
        ),
        (
            "stacks.csv",
            |text| text.replacen(",true,", ",maybe,", 1),
            &["stacks.csv", "line 2", "in_kernel"],
        ),
        (
            "system_calls.csv",
            |text| text.replacen("calls", "count", 1),
            &["system_calls.csv", "calls"],
        ),
        (
            "activity.csv",
            |text| text + "999,dials,3\n",
            &["activity.csv", "slice 999"],
        ),
        (
            "slices.csv",
            |text| text.replacen(",stacks,", ",guesses,", 1),
            &["slices.csv", "line 2", "guesses"],
        ),
        (
            "run.json",
            |text| text.replace("pl065536", "pl065537"),
            &["run.json", "pl065537"],
        ),
        (
            "evidence.json",
            |text| text[..20].to_owned(),
            &["evidence.json"],
        ),
    ];
    for (name, spoil, words) in cases {
        let copy = explained();
        change(&copy, name, spoil);
        refused(&copy, words);
    }
    let copy = explained();
    fs::remove_file(evidence::dir(&copy).join("timeline.csv")).expect("it was there");
    refused(&copy, &["timeline.csv"]);
}
