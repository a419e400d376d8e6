//! Reports on a table in the format of the first published benchmark, alone and beside a sweep.

use std::fs;

use crate::bench::{Copy, analysis, holds, path};

const PUBLISHED: &str =
    "n_peers,rtt_ms,payload,poll_p99_us,poll_samples,poll_slow_count,swarm_poll_p99_us,\
swarm_poll_samples,swarm_poll_slow_count,ct_total_poll_count,ct_total_slow_poll_count,total_rps
2,0,65536,92,1000,250,4,100,0,500,10,7450.5
2,0,4096,92,1000,150,4,100,0,500,10,7450.5
";

#[test]
fn a_published_table_is_drawn_and_compared() {
    let copy = Copy::new();
    let table = copy.beside("published.csv");
    fs::write(&table, PUBLISHED).expect("a table");
    let out = copy.beside("drawn");
    analysis(["published", path(&table), "--out", path(&out)]).succeeds();
    let drawn = fs::read_to_string(out.join("summary.csv")).expect("a table");
    holds(&drawn, &["2,0.0,65536,none,connection,slow_percent,25.0,"]);
    let text = fs::read_to_string(out.join("report.md")).expect("a report");
    let worst = "over 1 % in 2 of 2 cells; the worst is N=2, RTT 0 ms, 64 KiB with 25.0 %.";
    holds(&text, &[worst, "4 KiB: over 1 % in 1 of 1 cell"]);
    for absent in ["– ", "interval is", "launched only once"] {
        assert!(!text.contains(absent), "{absent} is in {text}");
    }

    let out = copy.beside("compared");
    let dir = copy.dir();
    analysis([
        "compare",
        path(&table),
        path(&dir),
        "--format",
        "svg",
        "--out",
        path(&out),
    ])
    .succeeds();
    let text = fs::read_to_string(out.join("report.md")).expect("a report");
    let beside = "| N=2, RTT 0 ms, 64 KiB | 25.0 / ";
    holds(&text, &["Cells in both: 2", worst, beside]);
    for absent in [
        "of 0 cells",
        "not measured",
        "resolves them",
        "late wake-ups",
    ] {
        assert!(!text.contains(absent), "{absent} is in {text}");
    }
}

#[test]
fn a_table_that_is_not_a_published_one_is_refused() {
    let copy = Copy::new();
    let table = copy.beside("published.csv");
    fs::write(&table, PUBLISHED.replace("poll_samples", "samples")).expect("a table");
    analysis(["published", path(&table)]).refuses(&["published.csv", "poll_samples"]);
    fs::write(&table, PUBLISHED.replace(",250,", ",1001,")).expect("a table");
    let more = "line 2: poll_slow_count is more than poll_samples";
    analysis(["published", path(&table)]).refuses(&["published.csv", more]);
    fs::write(&table, format!("{PUBLISHED}2,0,4096,1,1,1,1,1,1,1,1,1\n")).expect("a table");
    analysis(["published", path(&table)]).refuses(&["line 4", "twice"]);
    fs::write(&table, PUBLISHED.replace("7450.5\n2", "fast\n2")).expect("a table");
    analysis(["published", path(&table)]).refuses(&["total_rps"]);
}
