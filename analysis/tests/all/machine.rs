//! The report says what the machine did to a sweep, and disturbed blocks are set aside.

use crate::fixture::{FixtureCopy, RUNS, analysis, edit, holds, path, set_column};

const QUIET: &str = "0.1,0,0.0,0.0";

/// A copy in which both cells have blocks of a second each. In each block of the first cell, the hypervisor took this many ms
/// from central's core, and the last four columns of `blocks.csv` are these. In the second cell nothing happened.
fn with_blocks(blocks: [(u32, &str); 5]) -> FixtureCopy {
    let copy = FixtureCopy::new();
    let rows = |blocks: [(u32, &str); 5]| {
        let rows = (1..).zip(blocks).map(|(block, (stolen_ms, last))| {
            format!(
                "{block},1000.0,{stolen_ms}.0,{stolen_ms}.0,5000000,1,1,1.0,1.0,1.0,1.0,,,0.0,0,0,,,{last}\n"
            )
        });
        rows.collect::<String>()
    };
    let with = |text: String, rows: String| {
        let header = text.lines().next().expect("a header").to_owned();
        format!("{header}\n{rows}")
    };
    copy.edit("blocks.csv", |text| with(text, rows(blocks)));
    let other = copy.dir().join(RUNS[1]).join("blocks.csv");
    edit(&other, |text| with(text, rows([(0, QUIET); 5])));
    copy
}

/// One block of one cell is disturbed, in each of four ways.
#[test]
fn a_disturbed_block_is_set_aside_and_the_report_says_why() {
    for (columns, why) in [
        ("950.0,0,0.0,0.0", "central stood still"),
        ("0.1,3,0.0,0.0", "a peer or the delay line was stopped"),
        ("0.1,0,7000.0,7000.0", "the machine was suspended"),
        ("0.1,0,0.0,3600000.0", "the machine's clock was set"),
    ] {
        let mut blocks = [(0, QUIET); 5];
        blocks[2].1 = columns;
        let copy = with_blocks(blocks);
        copy.report(&["--format", "svg"]).succeeds();
        let set_aside = "1 of 10 blocks was disturbed and set aside: in 1 of them";
        holds(
            &copy.text("report.md"),
            &["2 runs and 9 blocks", &format!("{set_aside} {why}.")],
        );
        analysis(["verify", path(&copy.dir())]).succeeds();
    }
}

#[test]
fn a_cell_of_disturbed_blocks_alone_has_no_figures() {
    let copy = with_blocks([(0, "3000.0,0,0.0,0.0"); 5]);
    copy.report(&["--format", "svg"]).succeeds();
    let why = "every block was disturbed and set aside: central stood still";
    holds(&copy.text("report.md"), &["1 run and 5 blocks", why]);
}

#[test]
fn blocks_count_however_much_the_hypervisor_took() {
    let copy = with_blocks([200, 300, 200, 0, 0].map(|stolen_ms| (stolen_ms, QUIET)));
    let text = copy.reported();
    holds(
        &text,
        &[
            "2 runs and 10 blocks",
            "**The machine was disturbed**: other programs or the hypervisor took 14.5 % of central's core in the median cell. \
             Polls and wake-ups are corrected for that, throughput and request latency are not.",
        ],
    );
    assert!(!text.contains("set aside"), "{text}");
}

#[test]
fn a_value_that_the_kernel_does_not_provide_is_not_mentioned() {
    let copy = FixtureCopy::new();
    for run in RUNS {
        let blocks = copy.dir().join(run).join("blocks.csv");
        edit(&blocks, |text| {
            let without = text.lines().map(|row| {
                let mut fields: Vec<&str> = row.split(',').collect();
                if fields[0] != "block" {
                    // Steal of all cores and of central's, and the wait of its worker.
                    fields[2..5].fill("");
                }
                fields.join(",") + "\n"
            });
            without.collect()
        });
    }
    let text = copy.reported();
    assert!(!text.contains("the hypervisor took"), "{text}");
}

/// Polls soon after the change of variant are slow less often, in the slices of every variant.
#[test]
fn an_effect_is_shown_by_the_time_since_the_change_of_variant() {
    let copy = FixtureCopy::new();
    for run in RUNS {
        let file = copy.dir().join(run).join("turns.csv");
        let slices = (1..=17).map(|slice| format!("{slice},5,1000,{slice}\n{slice},20,1000,50\n"));
        let text = format!(
            "slice,from_ms,polls,slow_polls\n{}",
            slices.collect::<String>()
        );
        std::fs::write(file, text).expect("a copy can be written");
    }
    let text = copy.reported();
    holds(
        &text,
        &[
            "carry over from one turn",
            "| RTT | 5–20 ms | from 20 ms |",
            "| 0 ms | ",
        ],
    );
    analysis(["verify", path(&copy.dir())]).succeeds();
}

/// Throughput and latency say nothing about variants if most requests of a cell were sent in another turn.
#[test]
fn requests_of_other_turns_are_not_compared() {
    let copy = FixtureCopy::new();
    let slices = copy.run_file("slices.csv");
    set_column(&slices, "requests_begun_before", |row| {
        Some(row["requests"].clone())
    });
    holds(
        &copy.reported(),
        &["of all 2 cells, throughput over 1, request latency (p99) over 1"],
    );
    let summary = copy.text("summary.csv");
    let throughput = |payload: &str| {
        let start = format!("2,0.0,{payload},muxer=1/deferred,,requests_per_s,");
        let line = summary.lines().find(|line| line.starts_with(&start));
        line.expect("a row").ends_with(",,,,")
    };
    assert!(throughput("65536") && !throughput("4096"), "{summary}");
}
