//! The folder of an application has a report of its own kind, and is not compared with a sweep.

use std::fs;
use std::path::PathBuf;

use run_format::files::{APPLICATION, MANIFEST, RUN as RUN_JSON, read_json, write_json};
use serde_json::{Value, json};

use crate::fixture::{FixtureCopy, RUN, analysis, copy, edit, holds, path, seal};

/// The folder of an application whose polls are those of a cell.
pub(crate) fn application(of: &FixtureCopy) -> PathBuf {
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

#[test]
fn an_application_is_not_compared_with_a_sweep() {
    let sweep = FixtureCopy::new();
    let (lab, node) = (sweep.dir(), application(&sweep));
    for sides in [[&lab, &node], [&node, &lab]] {
        let [before, after] = sides.map(|dir| path(dir));
        let out = sweep.beside("compared");
        analysis(["compare", before, after, "--out", path(&out)]).refuses(&[
            "ab-run was measured in an application, and",
            "sweep was not (accepted: two sweeps, or two runs of an application)",
        ]);
        assert!(!out.exists());
    }
}

#[test]
fn the_table_of_checks_leaves_out_what_applications_cannot_have() {
    let sweep = FixtureCopy::new();
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
