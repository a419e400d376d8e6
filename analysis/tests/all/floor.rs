//! What central uses without requests is subtracted from what is measured with them.

use std::collections::BTreeMap;
use std::fs;

use crate::fixture::{FixtureCopy, RUN, RUNS, holds, number_of};

/// The figure of the baseline in the cell of [`RUN`].
fn figure(copy: &FixtureCopy, metric: &str) -> f64 {
    let row = [
        ("payload_bytes", "65536"),
        ("variant", "none"),
        ("metric", metric),
    ];
    number_of(&copy.text("summary.csv"), &row, "value")
}

/// A copy in which these launches have this table.
fn with(runs: &[&str], name: &str, text: &str) -> FixtureCopy {
    let copy = FixtureCopy::new();
    for run in runs {
        fs::write(copy.dir().join(run).join(name), text).expect("written");
    }
    copy
}

/// A copy in which the launch of [`RUN`] has this row in `idle.csv`.
fn with_idle(row: &str) -> FixtureCopy {
    let head = "duration_ms,central_cpu_ns,wakes,wake_p50_ns,wake_p90_ns";
    with(&[RUN], "idle.csv", &format!("{head}\n{row}\n"))
}

#[test]
fn the_floor_and_the_benchmarks_own_cpu_time_are_subtracted() {
    let old = FixtureCopy::new();
    for run in RUNS {
        fs::remove_file(old.dir().join(run).join("idle.csv")).expect("it is there");
    }
    old.report(&["--format", "svg"]).succeeds();
    let new = with(
        &RUNS,
        "idle.csv",
        "duration_ms,central_cpu_ns,wakes,wake_p50_ns,wake_p90_ns\n250.0,25000000,250,20000,30000\n",
    );
    new.report(&["--format", "svg"]).succeeds();
    let [before, after] = [&old, &new].map(|copy| figure(copy, "cotenant_p90_us"));
    // The buckets of a histogram are not finer than this.
    assert!(
        (before - after - 20.0).abs() < 0.01 * before,
        "{before} {after}"
    );
    assert!(figure(&new, "cotenant_late_percent") <= figure(&old, "cotenant_late_percent"));
    assert_eq!(
        figure(&new, "whole_cpu_us_per_request"),
        figure(&old, "cpu_us_per_request")
    );
    assert!(figure(&new, "cpu_us_per_request") < figure(&old, "cpu_us_per_request"));
    assert_eq!(figure(&new, "cotenant_floor_us"), 20.0);
    assert_eq!(figure(&new, "own_cpu_percent"), 10.0);
    holds(
        &new.text("report.md"),
        &["floor of another task's wake-ups 20.0 µs"],
    );
    let report = old.text("report.md");
    assert!(!report.contains("counted from its floor"), "{report}");
}

/// Computes the example of METHODS.md from the tables.
#[test]
fn cpu_time_per_request_follows_from_two_tables() {
    let copy = FixtureCopy::new();
    let (mut cpu_ns, mut sampled_ms, mut requests) = (0.0, 0.0, 0.0);
    let slices = copy.dir().join(RUN).join("slices.csv");
    let slices = csv::Reader::from_path(slices).expect("slices");
    for row in slices.into_deserialize::<BTreeMap<String, String>>() {
        let row = row.expect("a row");
        let number = |column: &str| row[column].parse::<f64>().expect("a number");
        if row["pass"] == "compare" && ["0", "1"].contains(&row["variant"].as_str()) {
            cpu_ns += number("central_cpu_ns");
            sampled_ms += number("sampled_ms");
            requests += number("requests") * number("sampled_ms") / number("duration_ms");
        }
    }
    let idle = csv::Reader::from_path(copy.dir().join(RUN).join("idle.csv"))
        .expect("idle.csv")
        .into_deserialize::<BTreeMap<String, f64>>()
        .next()
        .expect("a row")
        .expect("of numbers");
    let share = idle["central_cpu_ns"] / idle["duration_ms"];
    let own_ns = share * sampled_ms;
    let us = (cpu_ns - own_ns) / requests / 1e3;
    let example = format!(
        "({cpu_ns} − {share:.2}·{sampled_ms:.3}) / {requests:.2} = {:.0} ns, which is **{us:.1} µs per request**",
        us * 1e3
    );
    let methods = fs::read_to_string("METHODS.md")
        .expect("beside the manifest")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(methods.contains(&example), "{example}");
    copy.report(&["--format", "svg"]).succeeds();
    let reported = figure(&copy, "cpu_us_per_request");
    assert!((reported / us - 1.0).abs() < 1e-3, "{reported} {us}");
}

#[test]
fn a_cell_has_no_cpu_time_per_request_where_most_of_it_is_the_benchmarks_own() {
    let copy = with_idle("250.0,225000000,250,20000,30000");
    copy.report(&["--format", "svg"]).succeeds();
    let table = copy.text("summary.csv");
    let has = |metric: &str| {
        table
            .lines()
            .any(|line| line.starts_with("2,0.0,65536,") && line.contains(metric))
    };
    assert!(has(",whole_cpu_us_per_request,") && !has(",cpu_us_per_request,"));
    holds(
        &copy.text("report.md"),
        &["1 cell has no CPU time per request"],
    );
}

#[test]
fn impossible_figures_of_an_idle_central_are_refused() {
    for (row, words) in [
        (
            "250.0,900000000,250,20000,30000",
            "central_cpu_ns is 900000000",
        ),
        (
            "250.0,1000000,0,20000,30000",
            "percentiles without wake-ups",
        ),
        (
            "250.0,1000000,250,40000,30000",
            "wake_p50_ns is 40000 (possible: 0 to 30000)",
        ),
    ] {
        with_idle(row).is_refused(&["idle.csv: ", words]);
    }
}

#[test]
fn the_report_says_how_fast_the_machine_was() {
    let work = "block,work_ns\n1,20000\n2,30000\n3,20000\n4,40000\n5,20000\n";
    let copy = with(&RUNS, "work.csv", work);
    holds(
        &copy.reported(),
        &["the same piece of work took 20.0 to 40.0 µs"],
    );
    assert_eq!(figure(&copy, "fixed_work_us"), 26.0);
    with(&RUNS, "work.csv", &work.replace("5,", "9,")).is_refused(&["work.csv: block 9"]);
}
