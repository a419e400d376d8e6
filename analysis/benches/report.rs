//! How long a report of a large sweep takes: 120 cells, three runs each, or any number of cells.
//!
//! Such a sweep takes most of a day, so the benchmark puts one together: every cell gets the runs of the most
//! similar measured cell. The work is that of a real report; its content means nothing.
//!
//!     cargo bench --profile tools -p analysis --bench report -- results/NAME
//!     cargo bench --profile tools -p analysis --bench report -- results/LOW results/HIGH --against PROGRAM
//!     cargo bench --profile tools -p analysis --bench report -- results/NAME --cells 1000 --verb export --rounds 1
//!
//! With `--against`, an `analysis` built from other sources takes turns with this one in random order, because
//! the time of a report varies by more than most changes gain where a machine has other load.
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
use run_format::{
    files::{self, read_json, write_json},
    grid::{Axes, Cell},
    manifest::Manifest,
    network::Rtt,
    payload::Payload,
    run_row::RunRow,
};

const REPEAT: u32 = 3;

/// Those of the default sweep, or with as many numbers of peers as so many cells need.
fn axes(cells: Option<usize>) -> Axes {
    let rtt_ms = [0.0, 5.0, 25.0, 50.0, 100.0, 200.0];
    Axes {
        peers: match cells {
            None => vec![1, 2, 5, 10, 15],
            Some(cells) => (1..=cells.div_ceil(6 * 4)).collect(),
        },
        rtt_ms: rtt_ms.map(|ms| Rtt::from_ms(ms).unwrap()).to_vec(),
        payload_bytes: [4, 16, 64, 256].map(Payload::kib).to_vec(),
        only: Vec::new(),
    }
}

#[derive(Parser)]
struct BenchArguments {
    /// Folders of sweeps with the same variants, whose runs are used.
    #[arg(required = true)]
    sweeps: Vec<PathBuf>,
    /// Another program to take turns with.
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// About so many cells.
    #[arg(long)]
    cells: Option<usize>,
    /// `report` or `export`.
    #[arg(long, default_value = "report")]
    verb: String,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let args = BenchArguments::parse();
    let sources: Vec<MeasuredSource> = args.sweeps.iter().flat_map(|dir| sources(dir)).collect();
    assert!(
        !sources.is_empty(),
        "no run of these sweeps has a complete block"
    );
    let temporary = tempfile::tempdir().unwrap();
    let sweep = temporary.path().join("sweep");
    let axes = axes(args.cells);
    let cells = axes.cells().len();
    let bytes = put_together(&args.sweeps[0], &sources, axes, &sweep);
    println!(
        "{} MB, {} cells with {REPEAT} runs each, of {} that were measured",
        bytes / 1_000_000,
        cells,
        sources.len()
    );

    let mut programs = vec![ReportProgram::new(env!("CARGO_BIN_EXE_analysis").into())];
    programs.extend(args.against.map(ReportProgram::new));
    let mut order: Vec<usize> = (0..programs.len()).collect();
    for round in 0..args.rounds {
        order.shuffle(&mut rng());
        for &program in &order {
            let out = temporary
                .path()
                .join(format!("{}-{round}-{program}", args.verb));
            programs[program].report(&args.verb, &sweep, &out);
            fs::remove_dir_all(out).unwrap();
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
            "    {:5.2} s per 1,000 cells",
            1000.0 * middle(&program.wall_s) / cells as f64
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
struct MeasuredSource {
    run: PathBuf,
    row: RunRow,
}

fn sources(sweep: &Path) -> Vec<MeasuredSource> {
    let cells = fs::read_dir(sweep.join(files::CELLS)).unwrap();
    let source = |cell: PathBuf| {
        let run = cell.join(files::run_folder(1, None));
        let row: RunRow = read_json(&run.join(files::RUN)).ok()?;
        (row.blocks > Some(0)).then_some(MeasuredSource { run, row })
    };
    let paths = cells.map(|cell| cell.unwrap().path());
    let mut sources: Vec<MeasuredSource> = paths.filter_map(source).collect();
    sources.sort_by(|a, b| a.run.cmp(&b.run));
    sources
}

impl MeasuredSource {
    /// The distance from a cell. The round-trip time has the most weight, because it decides how much a run
    /// contains.
    fn distance(&self, to: &Cell) -> f64 {
        let from = &self.row.config.cell;
        let doublings = |one: f64, other: f64| ((1.0 + one) / (1.0 + other)).log2().abs();
        let bytes = |cell: &Cell| f64::from(cell.payload_bytes.bytes());
        3.0 * doublings(from.rtt_ms.ms(), to.rtt_ms.ms())
            + doublings(from.peers as f64, to.peers as f64)
            + doublings(bytes(from), bytes(to))
    }

    /// Copies the run as run `run` of `cell`. Returns the number of bytes.
    fn copy(&self, cell: Cell, run: u32, to: &Path) -> u64 {
        fs::create_dir_all(to).unwrap();
        let mut row = self.row.clone();
        row.cell = cell.id();
        row.config.cell = cell;
        row.config.load.payload = cell.payload_bytes;
        row.config.run = run;
        let mut bytes = 0;
        for entry in fs::read_dir(&self.run).unwrap() {
            let file = entry.unwrap();
            if file.file_type().unwrap().is_file() && file.file_name() != files::RUN {
                let (from, to) = (file.path(), to.join(file.file_name()));
                let linked = fs::hard_link(&from, &to);
                linked.or_else(|_| fs::copy(&from, &to).map(drop)).unwrap();
                bytes += file.metadata().unwrap().len();
            }
        }
        row.rewrite(to).unwrap();
        bytes
    }
}

/// Returns the number of bytes that a report has to read.
fn put_together(first: &Path, sources: &[MeasuredSource], axes: Axes, sweep: &Path) -> u64 {
    let mut manifest: Manifest = read_json(&first.join(files::MANIFEST)).unwrap();
    manifest.config.axes = axes.clone();
    manifest.config.repeat = REPEAT;
    fs::create_dir(sweep).unwrap();
    write_json(&sweep.join(files::MANIFEST), &manifest).unwrap();
    let mut bytes = 0;
    for cell in axes.cells() {
        let distance = |source: &&MeasuredSource| source.distance(&cell);
        let nearest = sources
            .iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)));
        for run in 1..=REPEAT {
            let dir = sweep.join(files::CELLS).join(cell.id());
            let to = dir.join(files::run_folder(run, None));
            bytes += nearest.unwrap().copy(cell, run, &to);
        }
    }
    bytes
}

struct ReportProgram {
    path: PathBuf,
    wall_s: Vec<f64>,
    cpu_s: Vec<f64>,
}

impl ReportProgram {
    fn new(path: PathBuf) -> ReportProgram {
        ReportProgram {
            path,
            wall_s: Vec::new(),
            cpu_s: Vec::new(),
        }
    }

    fn report(&mut self, verb: &str, sweep: &Path, out: &Path) {
        let (began, cpu_before) = (Instant::now(), children_cpu_s());
        let mut command = Command::new(&self.path);
        command.arg(verb).arg(sweep).arg("--out").arg(out);
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
