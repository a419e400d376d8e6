//! The comment of every kind of measurement renders on GitHub: its tables are tables, and little stands beside them.

use std::fs;
use std::ops::Range;
use std::path::Path;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::application::application;
use crate::fixture::{FixtureCopy, analysis, edit, holds, path, seal, search_of};
use crate::golden::of_subjects;

/// What a reader of the rendered text sees.
#[derive(Default)]
struct Rendered {
    tables: Vec<Range<usize>>,
    /// The source of each row of all tables.
    rows: Vec<Range<usize>>,
    words_beside_tables: usize,
    stray_pipes: usize,
}

fn rendered(markdown: &str) -> Rendered {
    let mut rendered = Rendered::default();
    let (mut is_in_table, mut is_in_block) = (false, false);
    for (event, range) in Parser::new_ext(markdown, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Table(_)) => {
                is_in_table = true;
                rendered.tables.push(range);
            }
            Event::End(TagEnd::Table) => is_in_table = false,
            Event::Start(Tag::TableHead | Tag::TableRow) => rendered.rows.push(range),
            Event::Start(Tag::CodeBlock(_)) => is_in_block = true,
            Event::End(TagEnd::CodeBlock) => is_in_block = false,
            Event::Text(text) | Event::Code(text) if !is_in_table => {
                rendered.words_beside_tables += text.split_whitespace().count();
                if !is_in_block {
                    rendered.stray_pipes += text.matches('|').count();
                }
            }
            _ => {}
        }
    }
    rendered
}

/// A renderer drops cells that are too many, so they are counted in the source.
fn cells(row: &str) -> usize {
    let escaped = row.replace("\\|", "").trim().to_owned();
    escaped.matches('|').count() - 1
}

#[track_caller]
fn check(comment: &str, tables: usize) {
    const MOST_WORDS: usize = 120;
    let Rendered {
        tables: found,
        rows,
        words_beside_tables,
        stray_pipes,
    } = rendered(comment);
    assert_eq!(found.len(), tables, "{comment}");
    for table in found {
        let mut own = rows
            .iter()
            .filter(|row| table.start <= row.start && row.end <= table.end);
        let head = own.next().expect("a table has a head");
        assert!(own.clone().count() > 0, "a table without rows: {comment}");
        for row in own {
            assert_eq!(
                cells(&comment[row.clone()]),
                cells(&comment[head.clone()]),
                "{}",
                &comment[row.clone()]
            );
        }
    }
    assert_eq!(stray_pipes, 0, "{comment}");
    assert!(
        words_beside_tables <= MOST_WORDS,
        "{words_beside_tables} words: {comment}"
    );
}

fn comment(dir: &Path) -> String {
    seal(dir);
    analysis(["report", path(dir), "--format", "svg"]).succeeds();
    fs::read_to_string(dir.join("report/comment.md")).expect("a comment")
}

#[test]
fn comments_of_budgets_and_of_programs_render() {
    let budgets = FixtureCopy::new();
    check(&comment(&budgets.dir()), 1);
    let subjects = of_subjects(1);
    check(&comment(&subjects.dir()), 1);
}

#[test]
fn a_comment_about_a_patch_says_whether_it_does_what_the_budget_does() {
    let copy = of_subjects(1);
    let at_both_ends =
        |text: String| text.replace("\"muxer=1/deferred\"", "\"muxer=1/deferred@both\"");
    edit(&copy.dir().join("manifest.json"), |text| {
        let text = text.replace(
            "\"label\": \"released\", \"role\": \"candidate\"",
            "\"label\": \"here@base+muxer=1/deferred\", \"role\": \"candidate\"",
        );
        let (before, last) = text.rsplit_once("\"peers\": 0}").expect("a subject");
        at_both_ends(format!("{before}\"peers\": 1}}{last}"))
    });
    for run in runs(&copy.dir()) {
        edit(&run, at_both_ends);
    }
    let comment = comment(&copy.dir());
    check(&comment, 1);
    holds(
        &comment,
        &[
            "- The patch of `muxer=1/deferred` at both ends differs from the budget at both ends in 12 of 12",
        ],
    );
}

/// The file `run.json` of every launch.
fn runs(dir: &Path) -> Vec<std::path::PathBuf> {
    let folders = |dir: &Path| {
        let entries = fs::read_dir(dir).expect("a folder").flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let cells = folders(&dir.join("cells"));
    let launches = cells.iter().flat_map(|cell| folders(cell));
    launches.map(|launch| launch.join("run.json")).collect()
}

#[test]
fn a_comment_about_a_search_renders() {
    let copy = FixtureCopy::new();
    let search = copy.beside("search");
    fs::create_dir(&search).expect("a folder");
    fs::rename(copy.dir(), search.join("round-1")).expect("a new name");
    search_of(&search);
    check(&comment(&search), 1);
}

#[test]
fn a_comment_about_an_own_node_renders() {
    let copy = FixtureCopy::new();
    check(&comment(&application(&copy)), 1);
}

#[test]
fn a_variant_that_changes_nothing_is_a_control_and_proposed_nowhere() {
    let copy = FixtureCopy::new();
    let same = |text: String| text.replace("\"muxer=1/deferred\"", "\"none@both\"");
    edit(&copy.dir().join("manifest.json"), same);
    for run in runs(&copy.dir()) {
        edit(&run, same);
    }
    let comment = comment(&copy.dir());
    check(&comment, 1);
    assert!(
        comment.starts_with("- Nothing is proposed: `none (A/A)` is an A/A control"),
        "{comment}"
    );
    let (said, _command) = comment.split_once("```").expect("it ends with the command");
    assert!(!said.contains("none@both"), "{comment}");
    let report = copy.text("report.md");
    holds(
        &report,
        &["further copies, which no table judges: `none@both`."],
    );
}

/// The GitHub Action puts the verdict below the counts of a gate.
#[test]
fn the_verdict_of_a_gate_renders() {
    let copy = FixtureCopy::new();
    let dir = copy.dir();
    let told = analysis(["verdict", path(&dir)]);
    told.succeeds();
    let rendered = rendered(&told.out);
    assert_eq!(
        (rendered.tables.len(), rendered.stray_pipes),
        (1, 0),
        "{}",
        told.out
    );
}
