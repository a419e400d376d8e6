//! A packed sweep is small, and holds the judged figures of a report.

use std::fs;

use tempfile::TempDir;

use crate::fixture::{FixtureCopy, analysis, path, replace};

#[test]
fn a_packed_sweep_has_its_verdict_and_the_judged_figures() {
    let (copy, place) = (FixtureCopy::new(), TempDir::new().expect("a folder"));
    let report = place.path().join("report");
    copy.report(&["--out", path(&report)]).succeeds();
    analysis(["pack", path(&copy.dir()), path(&report)]).succeeds();
    drop(copy);
    let verify = || analysis(["verify", path(&report)]);
    verify().succeeds();
    for (file, from, to) in [
        (
            "summary.csv",
            "connection,beyond_ms_per_s,",
            "connection,beyond_ms_per_s,1",
        ),
        (
            "summary.csv",
            ",cotenant_late_percent,",
            ",cotenant_late_percent,1",
        ),
        ("report.md", "Verdict.** ", "Verdict.** Not: "),
        ("report.md", "ms per s | **−", "ms per s | **−1"),
    ] {
        let kept = fs::read(report.join(file)).expect("a file of the report");
        replace(&report.join(file), from, to);
        let ended = verify();
        assert_eq!(ended.code, 1, "{to}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains(file), "{}", ended.err);
        fs::write(report.join(file), kept).expect("a file of the report");
    }
    fs::write(report.join("judged.tar.xz"), "no archive").expect("a file");
    verify().refuses(&["judged.tar.xz"]);
}
