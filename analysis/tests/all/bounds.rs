//! The report says what a bound would do, from the table that a run writes about bounds.

use std::fs;

use crate::fixture::{FixtureCopy, RUNS, analysis, edit, holds, path};

/// A copy of the fixture in which three slices of each cell have recordings of the site `muxer`. Bounds cut each poll in
/// `cuts + 1` pieces; a quarter of the polls are slow, and one more without a bound.
fn with_bounds() -> FixtureCopy {
    let copy = FixtureCopy::new();
    for run in RUNS {
        let dir = copy.dir().join(run);
        let lines = |name: &str| -> Vec<Vec<String>> {
            let text = fs::read_to_string(dir.join(name)).expect("a table");
            let rows = text
                .lines()
                .map(|line| line.split(',').map(str::to_owned).collect());
            rows.collect()
        };
        let mut table = "slice,site,budget,pieces,slow_pieces,longest_ns,beyond_ns\n".to_owned();
        for slice in lines("slices.csv")
            .iter()
            .filter(|slice| slice[1] == "children")
        {
            let sites = lines("sites.csv");
            let mut of_slice = sites.iter().filter(|site| site[0] == slice[0]);
            let muxer = of_slice.find(|site| site[1] == "muxer").expect("a row");
            let polls: u64 = muxer[2].parse().expect("a number");
            for (budget, cuts, more) in [("none", 0, 1), ("muxer=1", 2, 0), ("muxer=4", 0, 1)] {
                let (pieces, slow) = (polls * (cuts + 1), polls / 4 + more);
                let beyond_ns = if cuts == 0 { 4_000_000 } else { 1_000_000 };
                table += &format!(
                    "{},muxer,{budget},{pieces},{slow},123456,{beyond_ns}\n",
                    slice[0]
                );
            }
        }
        fs::write(dir.join("bounds.csv"), table).expect("a copy can be written");
    }
    copy
}

/// The fields of the row that begins with a text.
fn row(table: &str, begins: &str) -> Vec<String> {
    let found = table.lines().find(|line| line.starts_with(begins));
    let row = found.unwrap_or_else(|| panic!("{begins}: {table}"));
    row.split(',').map(str::to_owned).collect()
}

#[test]
fn predictions_stand_beside_what_was_measured() {
    let copy = with_bounds();
    copy.report(&["--format", "svg", "--site", "muxer"])
        .succeeds();
    let table = copy.text("predicted.csv");
    let documents = include_str!("../../../latency-benchmark/run-format/RESULTS.md");
    for column in table.lines().next().expect("a head").split(',') {
        assert!(documents.contains(&format!("`{column}`")), "{column}");
    }
    let row = |begins: &str| row(&table, begins);
    let number = |field: &String| field.parse::<f64>().expect("a number");
    // slices, polls, slow_polls, longest_ns, metric, predicted
    let (whole, cut) = (
        row("2,0.0,65536,muxer,none,3,"),
        row("2,0.0,65536,muxer,1,3,"),
    );
    assert_eq!(
        (&whole[13], &cut[13]),
        (&"none".to_owned(), &"muxer=1/deferred".to_owned())
    );
    assert!((number(&cut[6]) / number(&whole[6]) - 3.0).abs() < 1e-9);
    assert_eq!(whole[9], "beyond_ms_per_s");
    assert!((number(&whole[10]) / number(&cut[10]) - 4.0).abs() < 0.01);
    assert!((number(&cut[8]) - 123456.0).abs() < 1.0);
    assert!((number(&cut[17]) - (number(&cut[14]) - number(&cut[10]))).abs() < 0.01);
    let unmeasured = row("2,0.0,65536,muxer,4,3,");
    assert_eq!(unmeasured[13..].concat(), "");
    holds(
        &copy.text("report.md"),
        &[
            "What a bound would do",
            "time beyond the threshold, ms per s",
            "predicted, ms per s",
            "| 1 | ",
            "| `muxer=1/deferred` | muxer | ",
        ],
    );
    let dir = copy.dir();
    analysis(["verify", path(&dir)]).succeeds();
    edit(&dir.join("report/predicted.csv"), |text| {
        text.replace("123456", "123457")
    });
    assert_eq!(analysis(["verify", path(&dir)]).code, 1);
}

#[test]
fn without_recordings_or_at_another_threshold_nothing_is_predicted() {
    let without = FixtureCopy::new();
    for run in RUNS {
        fs::write(without.dir().join(run).join("bounds.csv"), "").expect("a copy can be written");
    }
    for (copy, threshold) in [(without, "50us"), (with_bounds(), "100us")] {
        copy.report(&["--format", "svg", "--threshold", threshold])
            .succeeds();
        assert_eq!(copy.text("predicted.csv").lines().count(), 1);
        assert!(!copy.text("report.md").contains("What a bound would do"));
    }
}

#[test]
fn polls_that_stay_whole_must_be_those_of_the_slice() {
    let copy = with_bounds();
    copy.replace("bounds.csv", "muxer,none,", "muxer,none,1");
    copy.is_refused(&["bounds.csv: 1", "polls of muxer in slice"]);
}
