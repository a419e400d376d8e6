//! Loads that hurt, each with the smallest budgets: everything that was sent arrives, and each load has its own figures.

use std::path::PathBuf;

use crate::bench::{Bench, SMALL, can_run, json, number, table, text};

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
