//! The report of an `rr` run finds the cost that a made-up run gives to libp2p.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::bench::{Ended, analysis, copy, edit, holds, path};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The cost of a request over raw TCP in the first block, and the factor and the latency that libp2p adds.
const RAW_CPU_US: f64 = 20.0;
const TIMES: f64 = 2.5;
const RAW_LATENCY_US: f64 = 40.0;
const ADDED_LATENCY_US: f64 = 60.0;
const BLOCKS: usize = 16;

struct Made {
    folder: TempDir,
}

impl Made {
    fn new() -> Made {
        let made = Made {
            folder: TempDir::new().expect("a temporary folder"),
        };
        let run = made.run();
        fs::create_dir_all(&run).expect("a folder");
        write(&made.dir().join("rr.json"), &manifest());
        write(&run.join("run.json"), &row());
        tables(&run);
        made
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("small")
    }

    fn run(&self) -> PathBuf {
        self.dir().join("cells/pl000064_rtt000_n01/run-1")
    }

    fn report(&self, options: &[&str]) -> Ended {
        analysis([&["report", path(&self.dir())], options].concat())
    }

    fn text(&self) -> String {
        fs::read_to_string(self.dir().join("report/report.md")).expect("a report")
    }

    /// A number of the table.
    fn number(&self, variant: &str, metric: &str, column: &str) -> f64 {
        let text = fs::read_to_string(self.dir().join("report/summary.csv")).expect("a table");
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let head = lines.next().expect("a header");
        let at = |name: &str| head.iter().position(|it| *it == name).expect("a column");
        let found = lines.find(|row| row[at("variant")] == variant && row[at("metric")] == metric);
        let row = found.unwrap_or_else(|| panic!("{variant} {metric}: {text}"));
        row[at(column)].parse().expect("a number")
    }
}

fn write(file: &Path, value: &Value) {
    fs::write(file, value.to_string()).expect("a file");
}

fn variants() -> Value {
    let variant =
        |label: &str, role: &str| json!({"label": label, "role": role, "budgets": "none"});
    json!([
        variant("raw-tcp", "baseline"),
        variant("raw-tcp (A/A)", "control"),
        variant("libp2p", "candidate"),
    ])
}

fn node() -> Value {
    json!({"workload": "rr", "security": "noise", "transport": "tcp"})
}

fn runtime() -> Value {
    json!({"scheduler": "current-thread", "workers": 1, "event_interval": null, "global_queue_interval": null})
}

fn lab() -> Value {
    json!({
        "backend": "auto",
        "loss_percent": null,
        "jitter_ms": null,
        "congestion_control": "cubic",
        "receive_on": "sender",
        "placement": {"central": 0, "peers": "1", "sharing": "nothing"},
    })
}

fn precision() -> Value {
    json!({"beyond_ms_per_s": 2.0, "percent_of_value": 10.0})
}

fn manifest() -> Value {
    json!({
        "schema": 3,
        "command": ["latency-benchmark", "rr", "--payload", "64B", "--name", "small"],
        "created_unix_s": 1_790_000_000,
        "config": {
            "axes": {"peers": [1], "rtt_ms": [0.0], "payload_bytes": [64]},
            "variants": variants(),
            "node": node(),
            "pace": {"outstanding": 1},
            "runtime": runtime(),
            "lab": lab(),
            "repeat": 1,
            "turn_ms": null, "settle_ms": null,
            "max_cell_ms": 20_000, "time_scale": 1.0,
            "precision": precision(),
            "seed": 7,
            "measurement": "beside-tcp",
        },
        "tool": {
            "version": "0.1.0",
            "commit": null,
            "profile": "release",
            "rustc": "rustc",
            "upstream": [{"name": "libp2p-swarm", "version": "0.48.0", "sha256": "0"}],
        },
        "machine": {
            "kernel": null, "cpu": null, "cores": 2, "memory_kib": null, "clock_source": "tsc", "governor": null,
        },
    })
}

fn row() -> Value {
    json!({
        "schema": 3,
        "cell": "pl000064_rtt000_n01",
        "config": {
            "cell": {"peers": 1, "rtt_ms": 0.0, "payload_bytes": 64},
            "run": 1,
            "beside": 0,
            "seed": 7,
            "node": node(),
            "load": {"payload": 64, "pace": {"outstanding": 1}},
            "runtime": runtime(),
            "variants": variants(),
            "plan": {
                "warm_up_ms": 300, "settle_ms": 50, "turn_ms": 250, "turns": 1, "max_ms": 20_000, "precision": precision(),
            },
            "lab": lab(),
            "measurement": "beside-tcp",
        },
        "status": "ok",
        "stop": "cap",
        "network": {"lab": null, "rtt": null, "counters": null, "delay_line": null},
        "started_unix_s": 1_790_000_001,
        "took_ms": 20_000,
        "overhead_ms": null,
        "stages": [],
        "blocks": BLOCKS,
        "probe_ns": null,
    })
}

const HEAD: &str = "slice,pass,block,variant,start_ms,duration_ms,sampled_ms,turns,requests,requests_begun_before,bytes,\
lost_entries,central_cpu_ns,central_runqueue_ns,helpers_cpu_ns,observers_cpu_ns,monitor_task_polls,monitor_task_ns,\
monitor_slow_task_polls,monitor_scheduled_ns,runtime_busy_ns,runtime_parks,central_instructions,central_cycles,\
peers_cpu_ns,peers_yielded,yamux_rtt_ns,yamux_grown_bytes,yamux_credit_bytes,yamux_unread_bytes\n";

const BLOCKS_HEAD: &str = "block,duration_ms,steal_ms,central_core_steal_ms,central_runqueue_ns,\
central_voluntary_switches,central_involuntary_switches,central_user_ms,central_system_ms,peers_user_ms,peers_system_ms,\
delay_line_user_ms,delay_line_system_ms,other_cpu_ms,central_tcp_retransmits,peers_tcp_retransmits,central_queue_drops,\
peers_queue_drops,latest_ms,stops_found,suspended_ms,clock_set_ms\n";

/// The launch gets slower by and by, which moves all variants alike, and slices stray on their own.
fn tables(run: &Path) {
    let mut csv = HEAD.to_owned();
    let mut peers = "slice,peer,requests,latency_p50_ns,latency_p99_ns\n".to_owned();
    let mut blocks = BLOCKS_HEAD.to_owned();
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
            csv += &format!(
                "{slice},compare,{},{variant},{start_ms},250,250,1,{requests},0,256000,0,{cpu_ns},0,0,0,,,,,0,0,,,,,,,,\n",
                block + 1
            );
        }
    }
    drop(writer);
    for block in 1..=BLOCKS {
        blocks += &format!("{block},750{}\n", ",".repeat(20));
    }
    fs::write(run.join("histograms.hlog"), log).expect("a file");
    fs::write(run.join("slices.csv"), csv).expect("a file");
    fs::write(run.join("peers.csv"), peers).expect("a file");
    fs::write(run.join("blocks.csv"), blocks).expect("a file");
    for table in ["turns", "sites", "bands", "children", "bounds"] {
        fs::write(run.join(table).with_extension("csv"), "").expect("a file");
    }
}

#[test]
fn what_libp2p_adds_is_found() {
    let made = Made::new();
    let ended = made.report(&[]);
    ended.succeeds();
    let of = |metric: &str, column: &str| made.number("libp2p", metric, column);
    let raw = made.number("raw-tcp", "cpu_us_per_request", "value");
    let [low, high] = ["change_low", "change_high"].map(|it| of("cpu_us_per_request", it));
    let added = (TIMES - 1.0) * raw;
    assert!(low < added && added < high, "{low} {added} {high}");
    assert!(high - low < 0.3 * raw, "{low} {high}");
    let [low, high] = ["change_low", "change_high"].map(|it| 1000.0 * of("latency_p50_ms", it));
    assert!(
        low < ADDED_LATENCY_US && ADDED_LATENCY_US < high,
        "{low} {high}"
    );
    assert!(high - low < 6.0, "{low} {high}");
    assert_eq!(of("requests_per_s", "value"), 8000.0);

    let control = |column| made.number("raw-tcp (A/A)", "cpu_us_per_request", column);
    assert!(control("change_low") < 0.0 && 0.0 < control("change_high"));

    // The same in words, on the screen and in the report.
    let text = made.text();
    let mut lines = text.lines();
    let sentence = lines.find_map(|line| line.strip_prefix("**Verdict.** "));
    let sentence = sentence.expect("it opens with the verdict");
    assert!(ended.out.starts_with(sentence), "{}", ended.out);
    holds(sentence, &["libp2p adds 3", "a request of 64 B", " 2.5"]);
    holds(&text, &["rr --payload 64B --name small --seed 7"]);
    for name in ["charts/rr.png", "report.json"] {
        assert!(made.dir().join("report").join(name).is_file(), "{name}");
    }
}

#[test]
fn what_is_written_today_is_read() {
    let folder = TempDir::new().expect("a temporary folder");
    let run = folder.path().join("run");
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../latency-benchmark/tests/fixture-rr");
    copy(&fixture, &run);
    let ended = analysis(["report", path(&run), "--format", "svg"]);
    ended.succeeds();
    assert!(ended.out.starts_with("libp2p adds "), "{}", ended.out);
}

#[test]
fn what_the_kernel_does_not_say_has_no_figure() {
    let made = Made::new();
    edit(&made.run().join("slices.csv"), |text| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for line in &mut lines[1..] {
            let mut fields: Vec<&str> = line.split(',').collect();
            fields[12] = "";
            *line = fields.join(",");
        }
        lines.join("\n") + "\n"
    });
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
        edit(&made.run().join(name), |text| text.replacen(from, to, 1));
        made.report(&[]).refuses(words);
        assert!(!made.dir().join("report").exists());
    };
    refuses(
        "slices.csv",
        ",2000,",
        ",1999,",
        &["slice 1", "1999 requests"],
    );
    refuses(
        "slices.csv",
        "compare,1,0,",
        "compare,1,3,",
        &["slice 1", "variant 3"],
    );
    refuses("slices.csv", "runtime_parks", "parks", &["runtime_parks"]);
    refuses(
        "slices.csv",
        ",250,250,",
        ",200,250,",
        &["slice 1", "200 ms, of 250 ms planned"],
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
