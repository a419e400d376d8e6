//! The verdict depends on the margins, which are recorded, and the comment is short.

use crate::fixture::{FixtureCopy, analysis, edit, holds, path};

#[test]
fn the_verdict_depends_on_the_margins_which_are_recorded() {
    let copy = FixtureCopy::new();
    holds(&copy.reported(), &["| **−"]);
    let margins = ["beyond=99.9%", "wake-up=99.9%", "late=50pp"];
    let options = margins.map(|margin| ["--margin", margin]).concat();
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

#[test]
fn the_comment_says_what_to_do_first_and_is_printed() {
    let copy = FixtureCopy::new();
    copy.report(&[]).succeeds();
    let comment = copy.text("comment.md");
    let first =
        "- One visit to each cell suggests: bound `yamux Active::poll` with `muxer=1/deferred`";
    assert!(comment.starts_with(first), "{comment}");
    holds(
        &comment,
        &["is shown to be worse: ", "Drag the picture", "```\n"],
    );
    let dir = copy.dir();
    let printed = analysis(["comment", path(&dir)]);
    assert_eq!(printed.out.trim_end(), comment.trim_end());
}

/// Scripts read the answer, which ends at the colon of the first line.
#[test]
fn a_verdict_begins_with_its_answer_and_shows_the_noise() {
    let copy = FixtureCopy::new();
    let dir = copy.dir();
    let told = |margins: &[&str]| {
        let told = analysis([&["verdict", path(&dir)], margins].concat());
        assert_eq!(told.code, 0, "{}", told.err);
        told.out
    };
    let text = told(&[]);
    let answers = ["better", "no worse than the margin", "unknown", "worse"];
    let places: Vec<usize> = text
        .lines()
        .map_while(|line| line.split_once(": `"))
        .map(|(answer, _)| answers.iter().position(|known| *known == answer))
        .map(|place| place.expect("an answer"))
        .collect();
    assert!(!places.is_empty(), "{text}");
    assert!(
        places.is_sorted_by(|a, b| a >= b),
        "the worst comes first: {text}"
    );
    holds(
        &text,
        &[
            "| quantity | verdict | `muxer=1/deferred` | noise | margin |",
            "two copies of the baseline",
        ],
    );
    let nothing_matters = [
        "beyond=99.9%",
        "wake-up=5000%",
        "late=99pp",
        "throughput=5000%",
        "cpu=5000%",
        "latency=5000%",
    ];
    let text = told(&nothing_matters.map(|margin| ["--margin", margin]).concat());
    assert!(text.starts_with("no worse than the margin: `"), "{text}");
}
