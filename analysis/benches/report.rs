//! How long a report of the largest sweep takes: 120 cells, three runs each.
//!
//! Such a sweep takes most of a day, so this one is put together: every cell gets the runs of that measured
//! cell which is most like it. What there is to read, to add up and to draw is then as much as it would be;
//! what is said means nothing.
//!
//!     cargo bench --profile analysis -p analysis --bench report -- results/NAME
//!     cargo bench --profile analysis -p analysis --bench report -- results/LOW results/HIGH --against PROGRAM
//!
//! With `--against`, an `analysis` built from other sources takes turns with this one in random order, since
//! on a shared machine a report by itself varies by more than most changes gain.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use clap::Parser;
use nix::sys::resource::{UsageWho, getrusage};
use rand::{rng, seq::SliceRandom};
use serde_json::{Value, json};

const PEERS: [u64; 5] = [1, 2, 5, 10, 15];
const RTT_MS: [f64; 6] = [0.0, 5.0, 25.0, 50.0, 100.0, 200.0];
const PAYLOADS: [u64; 4] = [4 << 10, 16 << 10, 64 << 10, 256 << 10];
const REPEAT: u64 = 3;

#[derive(Parser)]
struct Args {
    /// Folders of sweeps with the same variants, whose runs are used.
    #[arg(required = true)]
    sweeps: Vec<PathBuf>,
    /// Another program to take turns with.
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let args = Args::parse();
    let sources: Vec<Source> = args.sweeps.iter().flat_map(|dir| sources(dir)).collect();
    assert!(
        !sources.is_empty(),
        "no run of these sweeps has a complete block"
    );
    let temporary = tempfile::tempdir().unwrap();
    let sweep = temporary.path().join("sweep");
    let bytes = put_together(&args.sweeps[0], &sources, &sweep);
    println!(
        "{} MB, {} cells with {REPEAT} runs each, of {} that were measured",
        bytes / 1_000_000,
        PEERS.len() * RTT_MS.len() * PAYLOADS.len(),
        sources.len()
    );

    let mut programs = vec![Program::new(env!("CARGO_BIN_EXE_analysis").into())];
    programs.extend(args.against.map(Program::new));
    let mut order: Vec<usize> = (0..programs.len()).collect();
    for _ in 0..args.rounds {
        order.shuffle(&mut rng());
        for &program in &order {
            programs[program].report(&sweep, &temporary.path().join("report"));
        }
    }
    for program in &programs {
        println!("{}", program.path.display());
        println!(
            "    {:5.2} s {}",
            middle(&program.wall_s),
            ends(&program.wall_s)
        );
        println!(
            "    {:5.2} s of CPU {}",
            middle(&program.cpu_s),
            ends(&program.cpu_s)
        );
    }
    if let [this, other] = &programs[..] {
        let rounds = this.wall_s.iter().zip(&other.wall_s);
        let ratios: Vec<f64> = rounds.map(|(this, other)| this / other).collect();
        println!(
            "the first by the second, by round: {:.3} {}",
            middle(&ratios),
            ends(&ratios)
        );
    }
    let most_kib = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    println!("memory at most {} MiB", most_kib / 1024);
}

/// A measured cell.
struct Source {
    run: PathBuf,
    peers: f64,
    rtt_ms: f64,
    payload: f64,
}

fn sources(sweep: &Path) -> Vec<Source> {
    let cells = fs::read_dir(sweep.join("cells")).unwrap();
    let source = |cell: PathBuf| {
        let run = cell.join("run-1");
        let row = read(&run.join("run.json"))?;
        let of = |name| row["config"]["cell"][name].as_f64().unwrap();
        (row["blocks"].as_u64() > Some(0)).then(|| Source {
            peers: of("peers"),
            rtt_ms: of("rtt_ms"),
            payload: of("payload_bytes"),
            run,
        })
    };
    let paths = cells.map(|cell| cell.unwrap().path());
    let mut sources: Vec<Source> = paths.filter_map(source).collect();
    sources.sort_by(|a, b| a.run.cmp(&b.run));
    sources
}

impl Source {
    /// How much unlike a cell; the round trip most of all decides how much is seen in a run.
    fn unlike(&self, peers: u64, rtt_ms: f64, payload: u64) -> f64 {
        let doublings = |one: f64, other: f64| ((1.0 + one) / (1.0 + other)).log2().abs();
        3.0 * doublings(self.rtt_ms, rtt_ms)
            + doublings(self.peers, peers as f64)
            + doublings(self.payload, payload as f64)
    }
}

/// Returns how many bytes there are to read.
fn put_together(first: &Path, sources: &[Source], sweep: &Path) -> u64 {
    let mut manifest = read(&first.join("manifest.json")).unwrap();
    manifest["config"]["axes"] =
        json!({ "peers": PEERS, "rtt_ms": RTT_MS, "payload_bytes": PAYLOADS });
    manifest["config"]["repeat"] = json!(REPEAT);
    fs::create_dir(sweep).unwrap();
    fs::write(sweep.join("manifest.json"), manifest.to_string()).unwrap();
    let mut bytes = 0;
    for payload in PAYLOADS {
        for rtt_ms in RTT_MS {
            for peers in PEERS {
                let unlike = |source: &&Source| source.unlike(peers, rtt_ms, payload);
                let source = sources
                    .iter()
                    .min_by(|a, b| unlike(a).total_cmp(&unlike(b)));
                let cell = json!({ "peers": peers, "rtt_ms": rtt_ms, "payload_bytes": payload });
                let id = format!("pl{payload:06}_rtt{rtt_ms:03}_n{peers:02}");
                for run in 1..=REPEAT {
                    let to = sweep.join("cells").join(&id).join(format!("run-{run}"));
                    bytes += copy(&source.unwrap().run, &to, &id, &cell, run);
                }
            }
        }
    }
    bytes
}

fn copy(from: &Path, to: &Path, id: &str, cell: &Value, run: u64) -> u64 {
    fs::create_dir_all(to).unwrap();
    let mut row = read(&from.join("run.json")).unwrap();
    row["cell"] = json!(id);
    row["config"]["cell"] = cell.clone();
    row["config"]["load"]["payload"] = cell["payload_bytes"].clone();
    row["config"]["run"] = json!(run);
    fs::write(to.join("run.json"), row.to_string()).unwrap();
    let mut bytes = 0;
    for entry in fs::read_dir(from).unwrap() {
        let file = entry.unwrap();
        if file.file_type().unwrap().is_file() && file.file_name() != "run.json" {
            bytes += fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    bytes
}

fn read(path: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

struct Program {
    path: PathBuf,
    wall_s: Vec<f64>,
    cpu_s: Vec<f64>,
}

impl Program {
    fn new(path: PathBuf) -> Program {
        Program {
            path,
            wall_s: Vec::new(),
            cpu_s: Vec::new(),
        }
    }

    fn report(&mut self, sweep: &Path, out: &Path) {
        let (began, cpu_before) = (Instant::now(), children_cpu_s());
        let mut command = Command::new(&self.path);
        command.arg("report").arg(sweep).arg("--out").arg(out);
        let ended = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(ended.unwrap().success(), "{command:?}");
        self.wall_s.push(began.elapsed().as_secs_f64());
        self.cpu_s.push(children_cpu_s() - cpu_before);
    }
}

fn children_cpu_s() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

fn middle(values: &[f64]) -> f64 {
    sorted(values)[values.len() / 2]
}

fn ends(values: &[f64]) -> String {
    let sorted = sorted(values);
    format!("[{:.2} to {:.2}]", sorted[0], sorted[sorted.len() - 1])
}
