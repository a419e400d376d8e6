//! The report of `rr`: it finds the cost of libp2p that a test put into a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::fixture::{
    ApplicationOutcome, analysis, copy, edit, fixture, holds, number_of, path, replace, set_column,
};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use run_format::files::read_json;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The cost of a request over raw TCP in the first block, and the factor and the latency that libp2p adds.
const RAW_CPU_US: f64 = 20.0;
const TIMES: f64 = 2.5;
const RAW_LATENCY_US: f64 = 40.0;
const ADDED_LATENCY_US: f64 = 60.0;
const BLOCKS: usize = 16;

/// The committed run with other figures.
struct Made {
    folder: TempDir,
}

impl Made {
    fn new() -> Made {
        let folder = TempDir::new().expect("a temporary folder");
        let made = Made { folder };
        copy(&fixture().with_file_name("fixture-rr"), &made.dir());
        change(&made.dir().join("rr.json"), |manifest| {
            manifest["command"] = json!(["latency-benchmark", "rr", "--payload", "64B"]);
        });
        change(&made.run().join("run.json"), |row| {
            row.as_object_mut().expect("fields").remove("files");
            row["blocks"] = json!(BLOCKS);
            row["took_ms"] = json!(20_000);
        });
        write_tables(&made.run());
        made
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("small")
    }

    fn run(&self) -> PathBuf {
        self.dir().join("cells/pl000064_rtt000_n01/run-1")
    }

    fn report(&self, options: &[&str]) -> ApplicationOutcome {
        analysis([&["report", path(&self.dir())], options].concat())
    }

    fn text(&self) -> String {
        fs::read_to_string(self.dir().join("report/report.md")).expect("a report")
    }

    /// A number of `summary.csv`.
    fn number(&self, variant: &str, metric: &str, column: &str) -> f64 {
        let text = fs::read_to_string(self.dir().join("report/summary.csv")).expect("a table");
        number_of(&text, &[("variant", variant), ("metric", metric)], column)
    }
}

fn change(file: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = read_json(file).expect("a file of the fixture");
    change(&mut value);
    fs::write(file, value.to_string()).expect("a copy can be written");
}

/// Replaces the rows of a table.
fn write_rows(table: &Path, rows: &str) {
    edit(table, |text| {
        let header = text.lines().next().expect("a header");
        format!("{header}\n{rows}")
    });
}

/// Writes the tables and histograms of a launch that gets slower, which shifts all variants alike. Each slice also has noise
/// of its own.
fn write_tables(run: &Path) {
    let (mut slices, mut peers) = (String::new(), String::new());
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .with_start_time(SystemTime::UNIX_EPOCH)
        .with_max_value_divisor(1.0)
        .begin_log_with(&mut log, &mut serializer)
        .expect("a log");
    let mut slice = 0;
    for block in 0..BLOCKS {
        let drift = 1.0 + 0.02 * block as f64;
        for variant in 0..3 {
            let strays = 1.0 + 0.01 * (((block * 5 + variant * 3) % 7) as f64 - 3.0);
            let is_libp2p = variant == 2;
            let times = if is_libp2p { TIMES } else { 1.0 };
            let cpu_us = RAW_CPU_US * times * drift * strays;
            let added = if is_libp2p { ADDED_LATENCY_US } else { 0.0 };
            let middle_us = (RAW_LATENCY_US + added) * strays;
            let mut latency_ns = Histogram::<u64>::new(3).expect("a histogram");
            let requests = 2000;
            for at in 0..requests {
                let spread = 0.8 + 0.4 * at as f64 / requests as f64;
                latency_ns
                    .record((1000.0 * middle_us * spread) as u64)
                    .expect("it grows");
            }
            let start_ms = 300.0 * slice as f64;
            slice += 1;
            let tag = format!("latency.s{slice}.v{variant}");
            writer
                .write_histogram(
                    &latency_ns,
                    Duration::from_secs_f64(start_ms / 1e3),
                    Duration::from_millis(250),
                    Tag::new(&tag),
                )
                .expect("an interval");
            peers += &format!("{slice},1,{requests},1,2\n");
            let cpu_ns = (1000.0 * cpu_us * requests as f64) as u64;
            slices += &format!(
                "{slice},compare,{},{variant},{start_ms},250,250,1,{requests},0,256000,0,{cpu_ns},0,0,0,,,,,0,0,,,,,,,,\n",
                block + 1
            );
        }
    }
    drop(writer);
    let blocks = (1..=BLOCKS).map(|block| format!("{block},750{}\n", ",".repeat(20)));
    fs::write(run.join("histograms.hlog"), log).expect("a file");
    write_rows(&run.join("slices.csv"), &slices);
    write_rows(&run.join("peers.csv"), &peers);
    write_rows(&run.join("blocks.csv"), &blocks.collect::<String>());
}

#[test]
fn the_report_finds_the_cost_that_was_added() {
    let made = Made::new();
    let ended = made.report(&[]);
    ended.succeeds();
    let libp2p = |metric: &str, column: &str| made.number("libp2p", metric, column);
    let raw = made.number("raw-tcp", "cpu_us_per_request", "value");
    let [low, high] =
        ["change_low", "change_high"].map(|column| libp2p("cpu_us_per_request", column));
    let added = (TIMES - 1.0) * raw;
    assert!(low < added && added < high, "{low} {added} {high}");
    assert!(high - low < 0.3 * raw, "{low} {high}");
    let [low, high] =
        ["change_low", "change_high"].map(|column| 1000.0 * libp2p("latency_p50_ms", column));
    assert!(
        low < ADDED_LATENCY_US && ADDED_LATENCY_US < high,
        "{low} {high}"
    );
    assert!(high - low < 6.0, "{low} {high}");
    assert_eq!(libp2p("requests_per_s", "value"), 8000.0);

    let control = |column| made.number("raw-tcp (A/A)", "cpu_us_per_request", column);
    assert!(control("change_low") < 0.0 && 0.0 < control("change_high"));

    // The same in words, on the screen and in the report.
    let text = made.text();
    let mut lines = text.lines();
    let sentence = lines
        .find_map(|line| line.strip_prefix("**Verdict.** "))
        .expect("it opens with the verdict");
    assert!(ended.out.starts_with(sentence), "{}", ended.out);
    holds(sentence, &["libp2p adds 3", "a request of 64 B", " 2.5"]);
    holds(&text, &["rr --payload 64B --seed 6438"]);
    for name in ["charts/rr.png", "report.json"] {
        assert!(made.dir().join("report").join(name).is_file(), "{name}");
    }
}

#[test]
fn cpu_time_that_was_not_measured_has_no_figure() {
    let made = Made::new();
    let slices = made.run().join("slices.csv");
    set_column(&slices, "central_cpu_ns", |_| Some(String::new()));
    let ended = made.report(&[]);
    ended.succeeds();
    let table = fs::read_to_string(made.dir().join("report/summary.csv")).expect("a table");
    assert!(!table.contains("cpu_us_per_request"), "{table}");
    assert!(!ended.out.contains("CPU time"), "{}", ended.out);
}

#[test]
fn the_report_of_an_interrupted_run_says_so() {
    let made = Made::new();
    let partial = made.run().with_file_name("run-1.partial");
    fs::rename(made.run(), &partial).expect("a new name");
    edit(&partial.join("slices.csv"), |text| {
        let half: Vec<&str> = text.lines().take(3 * 6).collect();
        half.join("\n") + "\n19,compare,7,1"
    });
    made.report(&[]).succeeds();
    holds(&made.text(), &["cut short", "5 blocks in all"]);
}

#[test]
fn a_folder_that_is_not_an_rr_run_is_refused() {
    let refuses = |name: &str, from: &str, to: &str, words: &[&str]| {
        let made = Made::new();
        replace(&made.run().join(name), from, to);
        made.report(&[]).refuses(words);
        assert!(!made.dir().join("report").exists());
    };
    refuses(
        "slices.csv",
        "compare,1,0,",
        "compare,1,3,",
        &["slice 1", "variant 3"],
    );
    refuses("run.json", "\"blocks\":16", "\"blocks\":17", &["says 17"]);

    let made = Made::new();
    made.report(&["--site", "muxer"])
        .refuses(&["--site", "records no polls"]);
    analysis(["verify", path(&made.dir())]).refuses(&["measured by `rr`"]);
    analysis(["compare", path(&made.dir()), path(&made.dir())]).refuses(&["measured by `rr`"]);
    fs::remove_dir_all(made.dir().join("cells")).expect("it is there");
    made.report(&[]).refuses(&["no cell has a complete block"]);
}
