//! The margins decide, and are recorded.

use crate::bench::{Copy, analysis, edit, holds, path};

#[test]
fn the_verdict_is_by_the_margins_which_are_recorded() {
    let copy = Copy::new();
    copy.report(&["--format", "svg"]).succeeds();
    holds(
        &copy.text("report.md"),
        &["Gain: lower time beyond the threshold"],
    );
    let margins = ["beyond=99.9%", "wake-up=99.9%", "late=50pp"];
    let options = margins.map(|it| ["--margin", it]).concat();
    copy.report(&[&["--format", "svg"], &options[..]].concat())
        .succeeds();
    let text = copy.text("report.md");
    holds(
        &text,
        &[
            "**Verdict.** No variant is shown to gain",
            "time beyond the threshold 99.9 %",
        ],
    );
    holds(&copy.text("report.json"), &margins);
    let dir = copy.dir();
    analysis(["verify", path(&dir)]).succeeds();
    edit(&copy.dir().join("report/report.json"), |text| {
        text.replace("beyond=99.9%", "beyond=1%")
    });
    let ended = analysis(["verify", path(&dir)]);
    assert_eq!(ended.code, 1);
    holds(&ended.err, &["report.md: line 3"]);
}
