//! The committed sweep, which the real program measured, gives the committed figures.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::fixture::{
    self, CELLS, FixtureCopy, RUN, Row, analysis, compared, edit, holds, links, path, replace,
    seal, set_column, set_field,
};
use run_format::files::HISTOGRAMS;

/// `BLESS=1` writes the committed figures anew.
#[test]
fn the_fixture_gives_the_committed_figures() {
    let copy = FixtureCopy::new();
    copy.report(&["--format", "svg"]).succeeds();
    let made = copy.text("summary.csv");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixture-summary.csv");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&golden, &made).expect("it can be written");
    }
    let golden = fs::read_to_string(golden).expect("it is committed");
    for (line, (made, golden)) in made.lines().zip(golden.lines()).enumerate() {
        assert_eq!(made, golden, "line {}", line + 1);
    }
    assert_eq!(made.lines().count(), golden.lines().count());
}

#[test]
fn histograms_are_found_by_the_number_of_their_slice() {
    let swapped = FixtureCopy::new();
    swapped.replace(HISTOGRAMS, "Tag=connection.s2.", "Tag=connection.s9999.");
    swapped.is_refused(&[RUN, "in slice 2, but 0 in", HISTOGRAMS]);
    let of_another = FixtureCopy::new();
    of_another.replace(HISTOGRAMS, ".v1,", ".v2,");
    of_another.is_refused(&[HISTOGRAMS, "is of variant 1 and pass compare"]);
    let of_none = FixtureCopy::new();
    of_none.replace(HISTOGRAMS, "Tag=latency.s2.", "Tag=latency.");
    of_none.is_refused(&[HISTOGRAMS, "names no slice"]);
}

#[test]
fn a_report_is_whole_and_short_enough_to_paste() {
    let copy = FixtureCopy::new();
    copy.report(&["--format", "png,svg"]).succeeds();
    let report = copy.dir().join("report");
    let text = copy.text("report.md");
    assert!(text.len() < 60_000);
    for link in links(&text) {
        assert!(report.join(link).is_file(), "{link}");
    }
    assert!(text.contains("./sweep.sh"), "it says how to do it again");
    let names = |dir: &Path| -> Vec<String> {
        let entries = fs::read_dir(dir).expect("a folder").flatten();
        entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect()
    };
    let charts = names(&report.join("charts"));
    for kind in ["before-after.", "curve"] {
        for format in [".png", ".svg"] {
            let is_one = |name: &String| name.starts_with(kind) && name.ends_with(format);
            assert!(charts.iter().any(is_one), "{kind}*{format}: {charts:?}");
        }
    }
    for picture in charts.iter().filter(|name| name.ends_with(".png")) {
        assert!(text.contains(&format!("](charts/{picture})")), "{picture}");
    }
    let left = names(&copy.dir());
    assert!(
        !left.iter().any(|name| name.starts_with(".report")),
        "{left:?}"
    );
}

#[test]
fn another_threshold_gives_other_figures() {
    let copy = FixtureCopy::new();
    let slow = |threshold: &str| {
        copy.report(&["--format", "svg", "--threshold", threshold])
            .succeeds();
        let table = copy.text("summary.csv");
        let row = "2,0.0,65536,none,connection,slow_percent,";
        let fields = table.lines().find_map(|line| line.strip_prefix(row));
        let value = fields.and_then(|fields| fields.split(',').next());
        value.expect("a row").parse::<f64>().expect("a value")
    };
    assert!(slow("20us") > slow("50us"));
    assert!(slow("50us") > slow("10ms"));
}

#[test]
fn the_report_names_the_command_whichever_verb_measured() {
    for verb in ["sweep", "pipeline"] {
        let copy = FixtureCopy::new();
        if verb != "sweep" {
            edit(&copy.dir().join("manifest.json"), |text| {
                text.replace("\"sweep\"", "\"pipeline\"")
            });
        }
        holds(&copy.reported(), &["./sweep.sh --peers 2 --rtt 0 "]);
    }
}

#[test]
fn a_report_can_be_made_again_and_is_verified() {
    let copy = FixtureCopy::new();
    copy.report(&["--format", "svg", "--threshold", "100us"])
        .succeeds();
    let verify = || {
        let dir = copy.dir();
        analysis(["verify", path(&dir)])
    };
    verify().succeeds();
    copy.report(&["--format", "svg"]).succeeds();
    verify().succeeds();
}

#[test]
fn figures_of_a_run_that_changed_afterwards_are_not_verified() {
    let copy = FixtureCopy::new();
    copy.report(&["--format", "svg"]).succeeds();
    copy.edit("slices.csv", |text| {
        set_field(&text, "2,", 12, "190000000") // central_cpu_ns
    });
    let dir = copy.dir();
    seal(&dir);
    let ended = analysis(["verify", path(&dir)]);
    assert_eq!(ended.code, 1);
    holds(&ended.err, &["summary.csv"]);
}

#[test]
fn an_unfinished_run_is_reported_with_what_is_missing() {
    let copy = FixtureCopy::new();
    edit(&copy.cut_short().join("slices.csv"), |text| {
        text[..text.len() - 7].to_owned()
    });
    let text = copy.reported();
    holds(&text, &["without a measurement: 1 of 2", "cut short"]);
}

#[test]
fn a_sweep_compared_with_itself_has_no_difference_and_resolves_none_from_one_launch() {
    let (copy, other) = (FixtureCopy::new(), FixtureCopy::new());
    let out = copy.beside("compared");
    let text = compared(&copy.dir(), &other.dir(), &out);
    let table = fs::read_to_string(out.join("summary.csv")).expect("a table");
    for line in table
        .lines()
        .skip(1)
        .filter(|line| line.contains("after: "))
    {
        assert!(line.ends_with(",no"), "{line}");
    }
    holds(&text, &["Nothing can be resolved"]);
}

const SUBJECTS: &str = r#""subjects": [
    {"label": "here@base", "role": "baseline", "spec": "here@base", "libp2p": {"kind": "checkout", "path": "here",
     "revision": "base",
     "commit": {"id": "0123456789abcdef0123", "subject_line": "Before the change", "committed_unix_s": 0}, "difference": null,
     "tree_sha256": null}, "peers": 0},
    {"label": "released", "role": "candidate", "spec": "released", "libp2p": {"kind": "released"}, "peers": 0}],"#;

/// A copy whose only run has become five launches of two subjects that took turns.
pub(crate) fn of_subjects(beside: usize) -> FixtureCopy {
    const BLOCKS: u32 = 5;
    let copy = FixtureCopy::new();
    edit(&copy.dir().join("manifest.json"), |text| {
        let text = text.replacen("\"repeat\": 1", &format!("\"repeat\": {BLOCKS}"), 1);
        text.replacen("\"variants\": [", &format!("{SUBJECTS} \"variants\": ["), 1)
    });
    for cell in CELLS {
        let cell = copy.dir().join("cells").join(cell);
        for number in 1..=BLOCKS {
            for subject in 0..2 {
                let launch = cell.join(format!("s{subject}-run-{number}"));
                fixture::copy(&cell.join("run-1"), &launch);
                edit(&launch.join("run.json"), |text| {
                    let named = format!("\"run\": {number}, \"subject\": {subject},");
                    let text = text.replacen("\"run\": 1,", &named, 1);
                    text.replacen("\"beside\": 0", &format!("\"beside\": {beside}"), 1)
                });
            }
        }
        fs::remove_dir_all(cell.join("run-1")).expect("it is there");
    }
    copy
}

#[test]
fn launches_of_subjects_are_compared_and_named() {
    let copy = of_subjects(1);
    let text = copy.reported();
    holds(
        &text,
        &[
            "take turns",
            "- `here@base`: ",
            "0123456789ab",
            "- `released`: ",
        ],
    );
    let table = copy.text("summary.csv");
    let of_second =
        |line: &&str| line.contains(",released,") && line.contains("connection,slow_percent");
    let rows: Vec<&str> = table.lines().filter(of_second).collect();
    assert_eq!(rows.len(), 2, "{table}");
    for row in rows {
        let change = row.rsplit(',').nth(3).and_then(|field| field.parse().ok());
        assert_eq!(change, Some(0.0), "the same launches differ: {row}");
        assert!(row.ends_with(",no"), "{row}");
    }
}

#[test]
fn subjects_that_are_alive_together_have_the_same_cpu_time_of_the_benchmark() {
    let copy = of_subjects(1);
    for cell in fs::read_dir(copy.dir().join("cells")).expect("cells") {
        for launch in fs::read_dir(cell.expect("a cell").path()).expect("launches") {
            let launch = launch.expect("a launch").path();
            let is_first = launch.file_name().is_some_and(|name| name == "s0-run-1");
            let cpu_ns = if is_first { 10_000_000 } else { 40_000_000 };
            let head = "duration_ms,central_cpu_ns,wakes,wake_p50_ns,wake_p90_ns";
            let row = format!("{head}\n250.0,{cpu_ns},250,20000,30000\n");
            fs::write(launch.join("idle.csv"), row).expect("written");
        }
    }
    copy.report(&["--format", "svg"]).succeeds();
    let table = copy.text("summary.csv");
    let figures = |subject: &str| -> Vec<String> {
        let begin = format!("2,0.0,4096,{subject},,cpu_us_per_request,");
        let rows = table.lines().filter_map(|row| row.strip_prefix(&*begin));
        rows.map(str::to_owned).collect()
    };
    let of_first = figures("here@base");
    assert_eq!(of_first.len(), 1, "{table}");
    assert_eq!(of_first, figures("released"));
}

#[test]
fn a_block_of_subjects_needs_all_of_them() {
    let copy = of_subjects(1);
    for cell in CELLS {
        let launch = copy.dir().join("cells").join(cell).join("s1-run-3");
        fs::remove_dir_all(launch).expect("it is there");
    }
    let text = copy.reported();
    holds(&text, &["8 launches of each program and 40 blocks"]);
}

#[test]
fn subjects_that_did_not_take_turns_are_refused() {
    let copy = of_subjects(0);
    copy.is_refused(&["its `beside` is not that of the manifest"]);
}

#[test]
fn a_subject_that_always_fails_does_not_cost_the_others() {
    let copy = of_subjects(2);
    let third = r#""peers": 0}, {"label": "broken", "role": "candidate", "spec": "released", "libp2p": {"kind": "released"}, "peers": 0}],"#;
    replace(&copy.dir().join("manifest.json"), "\"peers\": 0}],", third);
    holds(&copy.reported(), &[" %, because 3 candidates fired and"]);
    let table = copy.text("summary.csv");
    let has = |label: &str| table.lines().any(|line| line.contains(label));
    assert!(has(",released,") && !has(",broken,"), "{table}");
}

#[test]
fn a_subject_that_hangs_is_the_first_line_everywhere() {
    let copy = of_subjects(1);
    let hangs = "the stream to peer 1 stalled after 12.0 s";
    for cell in CELLS {
        for number in 1..=5 {
            let reason = match number {
                1 | 2 => hangs,
                _ => "not tried again, since two launches of this cell had failed",
            };
            let cell = copy.dir().join("cells").join(cell);
            let launch = cell.join(format!("s1-run-{number}"));
            let failed = format!(
                "\"status\": \"failed\", \"stage\": \"measuring\", \"reason\": \"{reason}\","
            );
            edit(&launch.join("run.json"), |text| {
                let text = text.replacen("\"status\": \"ok\",", &failed, 1);
                text.replacen("\"blocks\": 5", "\"blocks\": 0", 1)
            });
            for table in fs::read_dir(&launch).expect("a folder") {
                let table = table.expect("an entry").path();
                if table.extension().is_some_and(|end| end == "csv") {
                    fs::write(table, "").expect("a table");
                }
            }
            fs::write(launch.join("histograms.hlog"), "").expect("a log");
        }
    }
    let ended = copy.report(&["--format", "svg"]);
    ended.succeeds();
    let line = format!("`released` failed in 10 of 10 launches: {hangs}.");
    assert!(ended.out.starts_with(&line), "{}", ended.out);
    let comment = copy.text("comment.md");
    assert!(comment.starts_with(&format!("- {line}")), "{comment}");
    holds(
        &copy.text("report.md"),
        &[&format!("**Verdict.** {line}\n")],
    );
    let given_up = "a run of released failed: measuring: not tried again, since two launches of this cell had failed \
                    (3 times)";
    assert_eq!(copy.text("report.md").matches(given_up).count(), 2);
    for text in [comment, copy.text("report.md")] {
        assert!(!text.contains("0 cells"), "{text}");
    }
}

#[test]
fn the_launch_without_the_inserted_lines_says_whose_fault_it_is() {
    let copy = of_subjects(1);
    let cell = copy.dir().join("cells/pl004096_rtt000_n02");
    let launch = copy.dir().join("subjects/1/without-lines");
    fs::create_dir_all(&launch).expect("the folder is ours");
    let run = launch.join("run.json");
    fs::copy(cell.join("s1-run-1/run.json"), &run).expect("it is there");
    copy.report(&["--format", "svg"]).succeeds();
    let says = "`released` failed, and answers without the inserted lines";
    holds(&copy.text("report.md"), &[says]);
    edit(&run, |text| {
        let failed =
            "\"status\": \"failed\", \"stage\": \"measuring\", \"reason\": \"it stalled\",";
        text.replacen("\"status\": \"ok\",", failed, 1)
    });
    copy.report(&["--format", "svg"]).succeeds();
    let says = "`released` also fails without the inserted lines, which are not the cause: measuring: it stalled";
    holds(&copy.text("report.md"), &[says]);
}

/// The bands of a site without recorded iterations: each has one row, with the sums of all.
fn without_iterations(text: String) -> String {
    let mut lines = text.lines();
    let header = lines.next().expect("a header");
    let mut bands: BTreeMap<[&str; 4], [u64; 2]> = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let [slice, site, from_ns, iterations, polls, ns] = fields[..] else {
            panic!("{line}");
        };
        let known = if site == "connection" { "" } else { iterations };
        let sums = bands.entry([slice, site, from_ns, known]).or_default();
        for (sum, value) in sums.iter_mut().zip([polls, ns]) {
            *sum += value.parse::<u64>().expect("a number");
        }
    }
    let row = |(band, [polls, ns]): (&[&str; 4], &[u64; 2])| {
        let band = band.join(",");
        format!("{band},{polls},{ns}\n")
    };
    format!("{header}\n{}", bands.iter().map(row).collect::<String>())
}

#[test]
fn the_report_names_what_a_subject_did_not_record() {
    const LEVELS: &str = r#""build": {"id": "0", "profile": "release", "rustc": "rustc", "features": [], "crates": [],
     "levels": [{"site": "connection", "level": "outer", "not_there": null},
     {"site": "connection", "level": "inner", "not_there": "poll in line 7 has no loop"},
     {"site": "connection", "level": "budget", "not_there": "poll in line 7 has no loop"}],
     "patches": [], "edits_sha256": "", "lock_sha256": "", "program_sha256": ""}}],"#;
    let copy = of_subjects(1);
    edit(&copy.dir().join("manifest.json"), |text| {
        let second = r#""libp2p": {"kind": "released"}, "peers": 0"#;
        text.replacen(&format!("{second}}}],"), &format!("{second}, {LEVELS}"), 1)
    });
    for cell in CELLS {
        for number in 1..=5 {
            let launch = copy
                .dir()
                .join("cells")
                .join(cell)
                .join(format!("s1-run-{number}"));
            set_column(&launch.join("sites.csv"), "iterations", |row| {
                (row["site"] == "connection").then(String::new)
            });
            edit(&launch.join("bands.csv"), without_iterations);
        }
    }
    let text = copy.reported();
    let line = "- Not recorded of the site `connection` of released: iterations and children; the effect of budgets. \
                Reason: poll in line 7 has no loop.";
    assert_eq!(text.matches(line).count(), 1, "{text}");
    let table = copy.text("summary.csv");
    let has = |variant: &str, metric: &str| {
        table
            .lines()
            .any(|line| line.contains(variant) && line.contains(metric))
    };
    assert!(has(",released,", "connection,slow_percent"), "{table}");
    assert!(
        has("here@base", "connection,iterations_per_poll"),
        "{table}"
    );
    assert!(
        !has(",released,", "connection,iterations_per_poll"),
        "{table}"
    );
    assert!(has(",released,", "muxer,iterations_per_poll"), "{table}");
}

#[test]
fn a_launch_of_another_subject_is_refused() {
    let copy = of_subjects(1);
    let run = copy
        .dir()
        .join("cells/pl004096_rtt000_n02/s1-run-2/run.json");
    replace(&run, "\"subject\": 1", "\"subject\": 0");
    copy.report(&[]).refuses(&["s1-run-2", "another subject"]);
}

#[test]
fn messages_that_did_not_reach_central_are_counted() {
    let messages =
        r#""messages": [{"expected": 40, "delivered": 40}, {"expected": 39, "delivered": 37}],"#;
    let copy = FixtureCopy::new();
    copy.edit("run.json", |text| {
        text.replace("\"blocks\"", &format!("{messages} \"blocks\""))
    });
    let report = copy.reported();
    holds(&report, &["central received 37 of 39 messages"]);
    assert!(!report.contains("of 40 messages"), "{report}");
}

/// Computes the example of METHODS.md from the tables.
#[test]
fn the_time_beyond_follows_from_the_tables() {
    let rows = |path: &Path| fixture::rows(&fs::read_to_string(path).unwrap());
    let number = |row: &Row, column: &str| row[column].parse::<f64>().unwrap();
    let run = fixture::fixture().join("cells/pl004096_rtt000_n02/run-1");
    let (slices, bands) = (rows(&run.join("slices.csv")), rows(&run.join("bands.csv")));
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let figures = rows(&here.join("tests/fixture-summary.csv"));
    let methods = fs::read_to_string(here.join("METHODS.md")).unwrap();
    for (label, variants) in [("none", "01"), ("muxer=1/deferred", "2")] {
        let is_used =
            |slice: &&Row| slice["pass"] == "compare" && variants.contains(&slice["variant"]);
        let slices: Vec<&Row> = slices.iter().filter(is_used).collect();
        let ms: f64 = slices
            .iter()
            .map(|slice| number(slice, "duration_ms"))
            .sum();
        let is_slow = |band: &&Row| {
            let is_of_slice = slices.iter().any(|slice| slice["slice"] == band["slice"]);
            is_of_slice && band["site"] == "connection" && number(band, "from_ns") >= 50_000.0
        };
        let slow = bands.iter().filter(is_slow);
        let beyond_ns = slow.map(|band| number(band, "ns") - 50_000.0 * number(band, "polls"));
        let beyond = beyond_ns.sum::<f64>() / 1e3 / ms;
        let stated = format!("**{beyond:.3} ms per s**");
        assert!(
            methods.contains(&stated),
            "METHODS.md does not say {stated}"
        );
        let figure = figures.iter().find(|row| {
            let cell = (&*row["peers"], &*row["rtt_ms"], &*row["payload_bytes"]);
            let what = (&*row["site"], &*row["metric"]);
            cell == ("2", "0.0", "4096")
                && what == ("connection", "beyond_ms_per_s")
                && row["variant"] == label
        });
        // In the report a duration counts as the lower end of its bucket, which is at most 0.1 % less.
        let reported = number(figure.unwrap(), "value");
        assert!(
            (reported / beyond - 1.0).abs() < 0.01,
            "{reported} is not {beyond}"
        );
    }
}

#[test]
fn the_own_time_of_a_slice_follows_from_the_tables() {
    const SLICE: &str = "4";
    let results = include_str!("../../../latency-benchmark/run-format/RESULTS.md");
    let example = results
        .split("To follow the own time of one slice by hand")
        .nth(1);
    let example = example
        .expect("RESULTS.md has the example")
        .split("\n\n")
        .next();
    let example = example.unwrap().replace('\n', " ");
    let run = fixture::fixture().join("cells/pl065536_rtt000_n02/run-1");
    let rows = |table: &str| -> Vec<BTreeMap<String, String>> {
        let mut reader = csv::Reader::from_path(run.join(table)).unwrap();
        let rows = reader.deserialize().map(Result::unwrap);
        rows.filter(|row: &BTreeMap<String, String>| row["slice"] == SLICE)
            .filter(|row| row.get("site").is_none_or(|site| site == "connection"))
            .collect()
    };
    let number = |row: &BTreeMap<String, String>, column: &str| row[column].parse::<f64>().unwrap();
    let mut slow = rows("bands.csv");
    slow.retain(|row| number(row, "from_ns") >= 50_000.0);
    let sum = |column: &str| slow.iter().map(|row| number(row, column)).sum::<f64>();
    let (polls, ns) = (sum("polls"), sum("ns"));
    let beyond_ns = ns - 50_000.0 * polls;
    let ms = number(&rows("slices.csv")[0], "duration_ms");
    let wall_ns = number(&rows("sites.csv")[0], "wall_beyond_ns");
    for stated in [
        format!("{ns:.0} − {polls:.0} · 50000"),
        format!("{ms:.4} ms"),
        format!("{:.2} ms per s. By the wall clock", beyond_ns / ms / 1e3),
        format!("{:.2} ms per s. So", wall_ns / ms / 1e3),
        format!("{:.2} % of it", 100.0 * (1.0 - beyond_ns / wall_ns)),
    ] {
        assert!(example.contains(&stated), "{stated} is not in {example}");
    }
}
