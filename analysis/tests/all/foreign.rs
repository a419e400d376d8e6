//! Refuses runs of another sweep, rows that are missing or there twice, and to write into a folder that is read.

use std::fs;
use std::path::Path;

use crate::fixture::{FixtureCopy, RUN, analysis, path, replace};
use tempfile::TempDir;

/// Each value is one that another sweep could have.
#[test]
fn a_run_with_other_options_than_its_sweep_is_refused() {
    for (was, is, words) in [
        ("\"outstanding\": 2", "\"outstanding\": 3", "its `load`"),
        (
            "\"percent_of_value\": 0.1",
            "\"percent_of_value\": 0.2",
            "its `plan`",
        ),
        ("\"max_ms\": 5000", "\"max_ms\": 9000", "its `plan`"),
        (
            "\"event_interval\": null",
            "\"event_interval\": 7",
            "its `runtime`",
        ),
        (
            "\"backend\": \"auto\"",
            "\"backend\": \"netem\"",
            "its `lab`",
        ),
        ("\"label\": \"none\"", "\"label\": \"no\"", "its `variants`"),
        (
            "\"security\": \"noise\"",
            "\"security\": \"tls\"",
            "its workload",
        ),
        (
            "\"measurement\": \"compare\"",
            "\"measurement\": \"beside-tcp\"",
            "its `measurement`",
        ),
    ] {
        let copy = FixtureCopy::new();
        copy.replace("run.json", was, is);
        copy.is_refused(&[RUN, "run.json", words]);
    }
    // One of the two cells has the lengths of another version.
    let copy = FixtureCopy::new();
    copy.edit("run.json", |text| {
        let text = text.replacen("\"settle_ms\": 10", "\"settle_ms\": 12", 1);
        text.replacen("\"turns\": 1", "\"turns\": 3", 1)
    });
    copy.is_refused(&["run.json", "its plan is not that of the other runs"]);
}

/// The row that begins with `start`.
fn row<'a>(text: &'a str, start: &str) -> &'a str {
    let mut rows = text.split_inclusive('\n');
    rows.find(|row| row.starts_with(start)).expect("a row")
}

#[test]
fn rows_that_are_there_twice_are_refused() {
    for (table, start) in [
        ("slices.csv", "1,"),
        ("blocks.csv", "2,"),
        ("sites.csv", "1,swarm"),
        ("children.csv", "1,connection,0,handler.poll"),
        ("peers.csv", "4,2"),
    ] {
        let copy = FixtureCopy::new();
        copy.edit(table, |text| {
            let twice = row(&text, start).to_owned();
            text + &twice
        });
        copy.is_refused(&[table, "this row is there twice"]);
    }
}

#[test]
fn rows_that_are_missing_are_refused() {
    for (table, start, words) in [
        ("blocks.csv", "2,", "block 2 is missing"),
        (
            "sites.csv",
            "4,swarm",
            "swarm of slice 4 has a row here, but none in sites.csv",
        ),
        ("children.csv", "1,", "slice 1 is missing"),
        ("peers.csv", "4,2", "slice 4: "),
    ] {
        let copy = FixtureCopy::new();
        copy.edit(table, |text| {
            let rows = text.split_inclusive('\n');
            rows.filter(|row| !row.starts_with(start)).collect()
        });
        copy.is_refused(&[table, words]);
    }
    let copy = FixtureCopy::new();
    copy.edit("blocks.csv", |text| {
        let other = row(&text, "2,").replacen('2', "99", 1);
        text + &other
    });
    copy.is_refused(&["blocks.csv", "block 99 is not in slices.csv"]);
}

#[test]
fn figures_of_peers_that_no_run_can_have_are_refused() {
    for (was, is, words) in [
        (
            "1,1,453,",
            "1,1,454,",
            "slice 1: 909 requests of its peers, but 908",
        ),
        ("1,1,453,", "1,7,453,", "slice 1: peer 7"),
        (
            "1,1,453,1028095,",
            "1,1,453,9928095,",
            "latency_p50_ns is 9928095",
        ),
        ("1,1,453,1028095,", "1,1,453,,", "slice 1: peer 1"),
    ] {
        let copy = FixtureCopy::new();
        copy.replace("peers.csv", was, is);
        copy.is_refused(&["peers.csv", words]);
    }
}

/// The histograms are of co-tenants under the same variant, whose numbers are in no table.
#[test]
fn histograms_with_swapped_tags_are_refused() {
    let copy = FixtureCopy::new();
    copy.edit("histograms.hlog", |text| {
        let tags = text
            .lines()
            .filter_map(|line| line.split_once(','))
            .map(|(tag, _)| format!("{tag},"));
        let is_one = |tag: &String| tag.starts_with("Tag=cotenant-wake.s") && tag.ends_with(".v0,");
        let mut tags = tags.filter(is_one);
        let [one, other] = [tags.next(), tags.next()].map(|tag| tag.expect("two slices"));
        text.replacen(&one, &other, 1)
    });
    copy.is_refused(&["histograms.hlog", "histogram cotenant-wake"]);
}

/// Both histograms have equally many values, because all polls of the slice have an iteration.
#[test]
fn histograms_of_one_slice_with_swapped_tags_are_refused() {
    let (polls, longest) = ("connection", "connection-longest-iteration");
    for (one, other, words) in [
        (polls, longest, "slice 4: polls of connection take"),
        (
            longest,
            "latency",
            "slice 4: the longest iterations of connection",
        ),
    ] {
        let copy = FixtureCopy::new();
        copy.edit("histograms.hlog", |text| {
            let [one, other] = [one, other].map(|of| format!("Tag={of}.s4.v0,"));
            assert!(text.contains(&one) && text.contains(&other));
            let text = text.replacen(&one, "Tag=,", 1).replacen(&other, &one, 1);
            text.replacen("Tag=,", &other, 1)
        });
        copy.is_refused(&["histograms.hlog", words]);
    }
}

#[test]
fn manifests_with_numbers_that_no_sweep_has_are_refused_by_every_verb() {
    for (was, is, words) in [
        ("\"repeat\": 1", "\"repeat\": 1000000", "repeat is 1000000"),
        (
            "\"repeat\": 1",
            "\"repeat\": 1, \"far_repeat\": 1000000",
            "far_repeat is 1000000",
        ),
    ] {
        let copy = FixtureCopy::new();
        let dir = copy.dir();
        replace(&dir.join("manifest.json"), was, is);
        for verb in ["report", "verify", "page", "export", "merge"] {
            let out = copy.beside(verb);
            let out = ["--out", path(&out)];
            let out = if verb == "verify" { &[][..] } else { &out };
            let ended = analysis([&[verb, path(&dir)], out].concat());
            ended.refuses(&["manifest.json", words]);
        }
    }
}

fn entries(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).into_string().expect("text"))
        .collect();
    names.sort();
    names
}

#[test]
fn nothing_is_written_into_what_is_read() {
    let (copy, other) = (FixtureCopy::new(), FixtureCopy::new());
    let (run, other) = (copy.dir(), other.dir());
    let link = copy.beside("link");
    std::os::unix::fs::symlink(&run, &link).expect("a link");
    let before = entries(&run);
    for out in [
        run.clone(),
        run.join("new"),
        run.join("cells/new"),
        link.join("new"),
    ] {
        for verb in ["compare", "merge", "export", "page", "report"] {
            let second = [path(&other)];
            let second = if verb == "report" { &[][..] } else { &second };
            let arguments = [&[verb, path(&run)], second, &["--out", path(&out)]].concat();
            analysis(arguments).refuses(&["--out", path(&out)]);
            assert_eq!(entries(&run), before, "{verb}");
        }
    }
    // The report would be replaced, with the sweep in it.
    analysis(["report", path(&run)]).succeeds();
    let within = run.join("report/sweep");
    crate::fixture::copy(&other, &within);
    let arguments = ["compare", path(&within), path(&other), "--format", "svg"];
    let out = run.join("report");
    let ended = analysis(arguments.into_iter().chain(["--out", path(&out)]));
    ended.refuses(&["--out", "is read"]);
    assert!(within.join("manifest.json").is_file());
}

#[test]
fn what_a_killed_report_left_is_removed_by_the_next_one() {
    let copy = FixtureCopy::new();
    let left = copy.dir().join(".report-Ab3xYz");
    fs::create_dir_all(left.join("charts")).expect("a folder");
    let busy = copy.dir().join(".report-Cd4xYz");
    fs::create_dir(&busy).expect("a folder");
    let lock = fs::File::open(&busy).expect("it is there");
    lock.lock().expect("nobody else has it");
    let own = copy.dir().join(".report-of-mine");
    fs::create_dir(&own).expect("a folder");
    copy.report(&["--format", "svg"]).succeeds();
    assert!(!left.exists() && busy.exists() && own.exists());
    let parent = TempDir::new().expect("a folder");
    let left = parent.path().join(".merge-Ab3xYz");
    fs::create_dir(&left).expect("a folder");
    let merged = parent.path().join("merged");
    analysis(["merge", path(&copy.dir()), "--out", path(&merged)]).succeeds();
    assert_eq!(entries(parent.path()), ["merged"]);
}
