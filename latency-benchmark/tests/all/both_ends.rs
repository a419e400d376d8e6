//! Peers change budgets in step with central.

use crate::bench::{Bench, Row, can_run, number, succeeds, table};

const BUDGETS: [&str; 3] = ["none", "muxer=1/deferred", "muxer=1/deferred@both"];

/// Over a delay, too, for which the switch has no use: nothing of it passes over the links.
#[test]
fn peers_yield_in_the_turns_of_their_budget_and_in_no_others() {
    if !can_run(true) {
        return;
    }
    for rtt in ["0", "200"] {
        let bench = Bench::new();
        let cell = ["--peers", "3", "--payload", "64KiB", "--rtt", rtt];
        let mut sweep = bench.sweep(&cell);
        let budgets = BUDGETS.iter().flat_map(|budget| ["--budget", *budget]);
        // On a busy machine a poll may be interrupted for longer than the usual settling time.
        let long = ["--turn", "200", "--settle", "200"];
        let sweep = sweep.args(budgets).args(long);
        let sweep = sweep.args(["--no-aa", "--max-cell-seconds", "12"]);
        succeeds(sweep);
        bench.assert_nothing_left();
        let slices = table(&bench.runs("run-1").remove(0).join("slices.csv"));
        let slices = slices.iter().filter(|row| row["pass"] == "compare");
        let slices: Vec<&Row> = slices.collect();
        for variant in ["0", "1", "2"] {
            let variant_slices = slices.iter().filter(|row| row["variant"] == variant);
            let yields: Vec<u64> = variant_slices
                .map(|row| number(row, "peers_yielded"))
                .collect();
            assert!(!yields.is_empty());
            let is_as_it_should_be = match variant {
                "2" => yields.iter().sum::<u64>() > 0,
                _ => yields.iter().all(|yields| *yields == 0),
            };
            assert!(
                is_as_it_should_be,
                "RTT {rtt}, variant {variant}: {yields:?}"
            );
        }
        assert!(slices.iter().all(|row| number(row, "peers_cpu_ns") > 0));
    }
}
