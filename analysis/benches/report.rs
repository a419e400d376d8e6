//! How long a report of a large sweep takes, and how much memory: three runs of each cell.
//!
//! Such a sweep takes a day and more, so the benchmark puts one together: every cell gets the run of a similar measured
//! cell, three times. The work is that of a real report; its content means nothing. Files with equal content are links to one
//! file, so they are read from memory, not from a disk.
//!
//!     cargo bench --profile tools -p analysis --bench report -- results/NAME
//!     cargo bench --profile tools -p analysis --bench report -- results/NAME --cells 10000 --rounds 1
//!     cargo bench --profile tools -p analysis --bench report -- results/NAME --verb export
//!     cargo bench --profile tools -p analysis --bench report -- results/NAME --against PROGRAM
//!
//! With `--against`, an `analysis` built from other sources takes turns with this one in random order, because
//! the time of a report varies by more than most changes gain where a machine has other load.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{fs, io};

use clap::Parser;
use nix::sys::resource::{UsageWho, getrusage};
use rand::rng;
use rand::seq::SliceRandom;
use run_format::files::{self, read_json, write_json};
use run_format::{Axes, Cell, Manifest, Payload, Rtt, RunRow};

const REPEAT: u32 = 3;

/// Axes with at least this many cells. They have the numbers of peers that were measured, because a run has tables by peer.
fn axes(cells: usize, peers: Vec<usize>) -> Axes {
    let mut values = [6, 4];
    while peers.len() * values.iter().product::<usize>() < cells {
        *values.iter_mut().min().unwrap() += 1;
    }
    let [rtts, payloads] = values;
    let rtt = |at| Rtt::from_ms(5.0 * at as f64).unwrap();
    Axes {
        peers,
        rtt_ms: (0..rtts).map(rtt).collect(),
        payload_bytes: (1..)
            .take(payloads)
            .map(|at| Payload::kib(4 * at))
            .collect(),
        only: Vec::new(),
    }
}

#[derive(Parser)]
struct BenchArguments {
    /// The folder of a sweep, whose runs are used.
    sweep: PathBuf,
    /// The least number of cells.
    #[arg(long, default_value_t = 120)]
    cells: usize,
    /// What is done with the sweep: report, export or merge.
    #[arg(long, default_value = "report")]
    verb: String,
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
    let args = BenchArguments::parse();
    let temporary = tempfile::tempdir().unwrap();
    let sweep = temporary.path().join("sweep");
    let (cells, bytes) = put_together(&args.sweep, args.cells, &sweep);
    println!(
        "{} MB, {cells} cells with {REPEAT} runs each",
        bytes / 1_000_000
    );

    let mut programs = vec![ReportProgram::new(env!("CARGO_BIN_EXE_analysis").into())];
    programs.extend(args.against.map(ReportProgram::new));
    let mut order: Vec<usize> = (0..programs.len()).collect();
    for _ in 0..args.rounds {
        order.shuffle(&mut rng());
        for &program in &order {
            programs[program].run(&args.verb, &sweep, &temporary.path().join("out"));
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
        let per_1000 = middle(&program.wall_s) * 1000.0 / cells as f64;
        println!("    {per_1000:5.2} s for 1,000 cells");
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

/// The first runs of measured cells, sorted as the grid is: what a run contains depends most on its round-trip time.
fn sources(sweep: &Path) -> Vec<(PathBuf, RunRow)> {
    let cells = fs::read_dir(sweep.join(files::CELLS)).unwrap();
    let source = |cell: PathBuf| {
        let run = cell.join(files::run_folder(1, None));
        let row: RunRow = read_json(&run.join(files::RUN)).ok()?;
        (row.blocks > Some(0)).then_some((run, row))
    };
    let mut sources: Vec<_> = cells
        .filter_map(|cell| source(cell.unwrap().path()))
        .collect();
    sources.sort_by_key(|(_, row)| key(&row.config.cell));
    sources
}

fn key(cell: &Cell) -> (Rtt, usize, Payload) {
    (cell.rtt_ms, cell.peers, cell.payload_bytes)
}

/// Puts every file of a run but its row into another folder. Returns the sum of what `put` returns.
fn each_table(from: &Path, to: &Path, mut put: impl FnMut(&Path, &Path) -> io::Result<u64>) -> u64 {
    fs::create_dir_all(to).unwrap();
    let files = fs::read_dir(from)
        .unwrap()
        .map(Result::unwrap)
        .filter(|file| file.file_type().unwrap().is_file());
    let tables = files.filter(|file| file.file_name() != files::RUN);
    tables
        .map(|file| put(&file.path(), &to.join(file.file_name())).unwrap())
        .sum()
}

/// Links a run as another run of another cell. Returns the number of bytes.
fn link((from, row): &(PathBuf, RunRow), cell: Cell, run: u32, to: &Path) -> u64 {
    let mut row = row.clone();
    row.cell = cell.id();
    row.config.cell = cell;
    row.config.load.payload = cell.payload_bytes;
    row.config.run = run;
    // A run of this version has the lengths of its cell; those of another version have theirs.
    row.config.plan.warm_up_ms += 1;
    let bytes = each_table(from, to, |from, to| {
        fs::hard_link(from, to)?;
        Ok(to.metadata()?.len())
    });
    row.rewrite(to).unwrap();
    bytes
}

/// Returns the number of cells, and that of the bytes that a report has to read.
fn put_together(from: &Path, cells: usize, sweep: &Path) -> (usize, u64) {
    let mut manifest: Manifest = read_json(&from.join(files::MANIFEST)).unwrap();
    let mut sources = sources(from);
    let peers: BTreeSet<usize> = sources
        .iter()
        .map(|source| source.1.config.cell.peers)
        .collect();
    manifest.config.axes = axes(cells, peers.iter().copied().collect());
    manifest.config.repeat = REPEAT;
    fs::create_dir(sweep).unwrap();
    write_json(&sweep.join(files::MANIFEST), &manifest).unwrap();
    // Hard links work only within a file system.
    for (at, (run, _)) in sources.iter_mut().enumerate() {
        let copy = sweep.with_file_name("sources").join(at.to_string());
        each_table(run, &copy, |from, to| fs::copy(from, to));
        *run = copy;
    }
    let mut cells = manifest.config.axes.cells();
    cells.sort_by_key(key);
    let mut bytes = 0;
    for peers in peers {
        let alike = |cell: &Cell| cell.peers == peers;
        let sources: Vec<_> = sources
            .iter()
            .filter(|source| alike(&source.1.config.cell))
            .collect();
        let cells: Vec<&Cell> = cells.iter().filter(|cell| alike(cell)).collect();
        for (at, cell) in cells.iter().enumerate() {
            let source = sources[at * sources.len() / cells.len()];
            for run in 1..=REPEAT {
                let dir = sweep.join(files::CELLS).join(cell.id());
                bytes += link(source, **cell, run, &dir.join(files::run_folder(run, None)));
            }
        }
    }
    (cells.len(), bytes)
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

    fn run(&mut self, verb: &str, sweep: &Path, out: &Path) {
        let _ = fs::remove_dir_all(out);
        let (began, cpu_before) = (Instant::now(), children_cpu_s());
        let mut command = Command::new(&self.path);
        command.arg(verb).arg(sweep).arg("--out").arg(out);
        let ended = command.stdout(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{command:?}: {said}");
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
