//! Short turns: a slice sums up all that a variant had in a block.

use crate::bench::{Bench, Row, json, number, succeeds, table, value};

#[rustfmt::skip]
const ARGUMENTS: [&str; 18] = [
    "--peers", "2", "--rtt", "0", "--payload", "4KiB", "--turn", "20", "--settle", "5", "--max-cell-seconds", "3",
    "--budget", "none", "--budget", "muxer=1", "--budget", "connection=1000",
];

#[test]
fn a_slice_sums_up_its_turns_and_a_budget_that_never_fires_has_few() {
    let Some(bench) = Bench::near() else { return };
    succeeds(&mut bench.sweep(&ARGUMENTS));
    let run = bench.only("run-1");
    let row = json(&run.join("run.json"));
    assert_eq!(row["config"]["plan"]["turns"], 3);
    let slices = table(&run.join("slices.csv"));
    let (sites, turns) = (table(&run.join("sites.csv")), table(&run.join("turns.csv")));

    let turns_of = |label: &str| -> Vec<u64> {
        let variants = row["config"]["variants"].as_array().unwrap();
        let variant = variants
            .iter()
            .position(|variant| variant["label"] == label)
            .unwrap();
        let variant = variant.to_string();
        let of = slices
            .iter()
            .filter(|row| row["variant"] == variant && row["pass"] == "compare");
        of.map(|row| number(row, "turns")).collect()
    };
    assert!(
        turns_of("none")
            .iter()
            .chain(&turns_of("muxer=1"))
            .all(|turns| *turns == 3)
    );
    let idle = turns_of("connection=1000");
    assert!(idle.len() > 2, "{idle:?}");
    assert!(idle[..2].iter().all(|turns| *turns == 3) && idle[2..].iter().all(|turns| *turns == 1));

    for slice in &slices {
        let is_of_slice = |row: &&Row| row["slice"] == slice["slice"];
        let connection = sites
            .iter()
            .find(|row| is_of_slice(row) && row["site"] == "connection");
        let by_time = turns.iter().filter(is_of_slice);
        let by_time = by_time.map(|row| number(row, "polls")).sum::<u64>();
        assert_eq!(by_time, number(connection.unwrap(), "polls"));
    }
    // Nothing is measured before the settling is over.
    assert!(turns.iter().all(|row| number(row, "from_ms") >= 5));

    let idle = table(&run.join("idle.csv"));
    assert_eq!(idle.len(), 1);
    if number(&idle[0], "wakes") > 0 {
        assert!(number(&idle[0], "wake_p50_ns") <= number(&idle[0], "wake_p90_ns"));
    }

    let blocks = table(&run.join("blocks.csv"));
    let work = table(&run.join("work.csv"));
    let of = |rows: &[Row]| {
        rows.iter()
            .map(|row| row["block"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&work), of(&blocks));
    assert!(work.iter().all(|row| number(row, "work_ns") > 0));
    assert_eq!(blocks.len() as u64, row["blocks"].as_u64().unwrap());
    for block in &blocks {
        let block_slices = slices.iter().filter(|row| row["block"] == block["block"]);
        let measured: f64 = block_slices.map(|row| value(row, "sampled_ms")).sum();
        assert!(measured > 0.0 && measured <= value(block, "duration_ms"));
        // The kernel rounds the sum over cores and each core by itself, to ticks of 10 ms.
        assert!(value(block, "central_core_steal_ms") <= value(block, "steal_ms") + 10.0);
    }
}
