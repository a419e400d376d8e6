//! An application whose polls are those of a cell of the fixture is found in this cell of the grid.

use std::fs;
use std::path::{Path, PathBuf};

use run_format::files::{APPLICATION, MANIFEST, RUN as RUN_JSON, read_json, write_json};
use serde_json::{Value, json};

use crate::bench::{Copy, RUN, analysis, copy, edit, holds, path, seal};

/// The folder of an application whose polls are those of a cell.
pub(crate) fn application(of: &Copy) -> PathBuf {
    let dir = of.beside("ab-run");
    let run = dir.join("cells/application/run-1");
    copy(&of.dir().join(RUN), &run);
    // An application knows of no peers.
    edit(&run.join("peers.csv"), |text| {
        text.lines()
            .take(1)
            .map(|line| format!("{line}\n"))
            .collect()
    });
    let manifest: Value = read_json(&of.dir().join(MANIFEST)).unwrap();
    let row: Value = read_json(&run.join(RUN_JSON)).unwrap();
    let (config, plan) = (&manifest["config"], &row["config"]["plan"]);
    let file = json!({
        "schema": 3, "program": "my-app", "version": "0.1.0", "debug_assertions": false, "created_unix_s": 1_795_200_086,
        "machine": manifest["machine"], "runtime": config["runtime"], "variants": config["variants"],
        "turn_ms": plan["turn_ms"], "washout_ms": plan["settle_ms"], "limit_ms": 6000, "timer_limit_ms": 100, "seed": 1,
    });
    write_json(&dir.join(APPLICATION), &file).unwrap();
    let ended = json!({
        "schema": 3, "ended": "time-up", "started_unix_s": row["started_unix_s"], "took_ms": row["took_ms"],
        "blocks": row["blocks"], "refused_slices": 0, "lost_records": 0,
    });
    write_json(&run.join(RUN_JSON), &ended).unwrap();
    seal(&dir);
    dir
}

/// Compares two folders. Returns the report in `out`.
pub(crate) fn compared(one: &Path, other: &Path, out: &Path) -> String {
    analysis([
        "compare",
        path(one),
        path(other),
        "--format",
        "svg",
        "--out",
        path(out),
    ])
    .succeeds();
    fs::read_to_string(out.join("report.md")).unwrap()
}

#[test]
fn the_cell_with_the_same_polls_is_the_nearest_whichever_side_is_the_application() {
    let sweep = Copy::new();
    let (lab, node) = (sweep.dir(), application(&sweep));
    let text = compared(&node, &lab, &sweep.beside("one"));
    let nearest = "resemble the application most: N=2, RTT 0 ms, 64 KiB (1.00)";
    holds(
        &text,
        &[nearest, "| the application | ", "charts/in-grid.svg"],
    );
    assert_eq!(compared(&lab, &node, &sweep.beside("other")), text);
}

#[test]
fn the_table_of_checks_leaves_out_what_applications_cannot_have() {
    let sweep = Copy::new();
    let node = application(&sweep);
    analysis(["report", path(&node), "--format", "svg"]).succeeds();
    let text = fs::read_to_string(node.join("report/report.md")).unwrap();
    let (_, checks) = text.split_once("Can the figures be trusted?").unwrap();
    holds(
        checks,
        &["| records lost to full buffers | 0 | 0 | 0 | 0 |"],
    );
    assert!(!checks.contains("not measured"), "{checks}");
}

#[test]
fn a_published_table_has_no_durations_to_compare_with() {
    let sweep = Copy::new();
    let table = sweep.beside("published.csv");
    fs::write(&table, "n_peers\n").unwrap();
    let node = application(&sweep);
    analysis(["compare", path(&node), path(&table)]).refuses(&["published.csv", "poll durations"]);
    analysis([
        "compare",
        path(&node),
        path(&sweep.dir()),
        "--site",
        "gossip-actor",
    ])
    .refuses(&["--site gossip-actor", "ab-run"]);
}
