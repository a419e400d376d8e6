//! Measures the cells of a grid, one after the other, each on disk before the next.

pub(crate) mod args;
mod cell_process;
mod known;
mod progress;
mod schedule;
mod subjects;

use std::{fs, path::Path, process::ExitCode, time::Duration};

use anyhow::{Context, Result, anyhow};

use self::{
    args::{Asked, SweepArgs},
    cell_process::CellProcess,
    known::Known,
    progress::Progress,
    schedule::schedule,
    subjects::Programs,
};
use crate::{
    cell::CellTask,
    config::RunConfig,
    failure::{Failure, bad_input, one_line},
    observe::process::move_to,
    signals::{Interrupts, Signals},
    store::{
        RUN, SCHEMA,
        manifest::{Manifest, SweepConfig},
        rows::{End, Network, RunRow, Stop},
        run_dir::RunDir,
        run_writer::write_whole,
        unix_s,
    },
};

const MEASURED: u8 = 0;
const SOME_FAILED: u8 = 1;
const INTERRUPTED: u8 = 130;

pub(crate) fn run(args: SweepArgs) -> Result<ExitCode, Failure> {
    match args.asked()? {
        Asked::List(config) => list(&config),
        Asked::DryRun(config) => dry_run(&config),
        Asked::Measure(mut config, dir) => {
            refuse_what_is_there(&dir)?;
            let programs = Programs::prepare(&mut config)?;
            create(&dir)?;
            subjects::document(&config, &dir)?;
            let manifest = Manifest::new(config);
            manifest.write(&dir)?;
            measure(&manifest, &programs, &dir)
        }
        Asked::Resume(dir) => {
            let manifest = Manifest::resume(&dir)?;
            let programs = Programs::find(&manifest.config)?;
            measure(&manifest, &programs, &dir)
        }
    }
}

fn refuse_what_is_there(dir: &Path) -> Result<(), Failure> {
    if dir.exists() {
        return Err(is_there_already(dir));
    }
    Ok(())
}

fn is_there_already(dir: &Path) -> Failure {
    bad_input(anyhow!(
        "--name: {} is there already, and results are never overwritten (to go on with it: --resume {})",
        dir.display(),
        dir.display()
    ))
}

/// A new folder.
fn create(dir: &Path) -> Result<(), Failure> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("--out {}", parent.display()))
            .map_err(bad_input)?;
    }
    match fs::create_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(is_there_already(dir))
        }
        other => other
            .with_context(|| format!("--out: cannot create {}", dir.display()))
            .map_err(bad_input),
    }
}

fn list(config: &SweepConfig) -> Result<ExitCode, Failure> {
    let cells = config.axes.cells();
    println!("{} cells:", cells.len());
    for cell in cells {
        println!("  {}  {cell}", cell.id());
    }
    println!(
        "{} variants, the first is the baseline:",
        config.variants.len()
    );
    for variant in &config.variants {
        println!("  {}", variant.label);
    }
    list_subjects(config);
    Ok(ExitCode::from(MEASURED))
}

fn list_subjects(config: &SweepConfig) {
    if config.subjects.is_empty() {
        return;
    }
    println!(
        "{} subjects, the first is the baseline:",
        config.subjects.len()
    );
    for subject in &config.subjects {
        let yamux = subject
            .yamux
            .as_ref()
            .map(|yamux| format!(", yamux: {yamux}"));
        println!(
            "  {}: {}{}",
            subject.label,
            subject.libp2p,
            yamux.unwrap_or_default()
        );
    }
}

fn dry_run(config: &SweepConfig) -> Result<ExitCode, Failure> {
    let launches = schedule(config);
    let mut longest = Duration::ZERO;
    for (number, launch) in launches.iter().enumerate() {
        let takes = launch.longest(config);
        longest += takes;
        println!(
            "{:4}  {}  {}  at most {:.0} s, slices of {} ms",
            number + 1,
            launch.cell.id(),
            launch.name(config),
            takes.as_secs_f64(),
            config.plan(launch.cell.rtt_ms).slice_ms
        );
    }
    println!(
        "{} runs × {} variants, at most {:.0} min; less where the ratios are known sooner. Seed {}",
        launches.len(),
        config.variants.len(),
        longest.as_secs_f64() / 60.0,
        config.seed
    );
    list_subjects(config);
    Ok(ExitCode::from(MEASURED))
}

fn measure(manifest: &Manifest, programs: &Programs, dir: &Path) -> Result<ExitCode, Failure> {
    let signals = Signals::block()?;
    let config = &manifest.config;
    // Off central's core, which is to be central's alone.
    move_to(&config.lab.placement.peers).context("cannot leave central's core")?;
    let lock = lock(dir)?;
    let interrupts = Interrupts::count(signals)?;
    let launches = schedule(config);
    let mut progress = Progress::new(launches.len());
    warn_of_company(&progress);
    let mut counts = Counts::default();
    let mut known = Known::nothing(config);
    for launch in &launches {
        if interrupts.seen() > 0 {
            counts.interrupted = true;
            break;
        }
        if known.is_enough_without(launch) {
            progress.skip();
            continue;
        }
        let run_dir = RunDir::new(dir, &launch.cell.id(), launch.run, launch.subject);
        if run_dir.row().is_some_and(|row| is_measured(&row)) {
            known.add(launch, &run_dir.done())?;
            progress.skip();
            continue;
        }
        progress.begin(launch, config);
        let program = programs.of(launch.subject);
        let task = launch.config(config);
        let Some(row) = launch_cell(program, task, &run_dir, &interrupts, &mut progress) else {
            counts.interrupted = true;
            break;
        };
        counts.add(&row.end);
        progress.end(&row, config);
        if let Err(error) = keep(&row, &run_dir) {
            // Perhaps the disk is full, perhaps not for long.
            progress.warn(&format!(
                "{} cannot be kept: {}",
                launch.cell,
                one_line(&format!("{error:#}"))
            ));
            counts.unkept += 1;
        } else if is_measured(&row) && run_dir.done().exists() {
            known.add(launch, &run_dir.done())?;
        }
    }
    drop(lock);
    progress.finish(&counts.summary(), dir);
    Ok(ExitCode::from(counts.exit_code()))
}

fn is_measured(row: &RunRow) -> bool {
    matches!(row.end, End::Ok { .. })
}

#[derive(Default)]
struct Counts {
    measured: usize,
    invalid: usize,
    failed: usize,
    /// Whose rows could not be written.
    unkept: usize,
    interrupted: bool,
}

impl Counts {
    fn add(&mut self, end: &End) {
        match end {
            End::Ok { .. } => self.measured += 1,
            End::Invalid { .. } => self.invalid += 1,
            End::Failed { .. } => self.failed += 1,
        }
    }

    fn summary(&self) -> String {
        let Counts {
            measured,
            invalid,
            failed,
            unkept,
            interrupted,
        } = self;
        let unkept = match unkept {
            0 => String::new(),
            count => format!(", {count} not kept"),
        };
        let interrupted = if *interrupted { "; interrupted" } else { "" };
        format!("{measured} runs measured, {invalid} invalid, {failed} failed{unkept}{interrupted}")
    }

    fn exit_code(&self) -> u8 {
        match self {
            Counts {
                interrupted: true, ..
            } => INTERRUPTED,
            Counts {
                invalid: 0,
                failed: 0,
                unkept: 0,
                ..
            } => MEASURED,
            _ => SOME_FAILED,
        }
    }
}

/// Writes the row, and gives the run its name, unless it was interrupted: then some blocks are there,
/// but not what was asked for, and it stays to be done.
fn keep(row: &RunRow, run_dir: &RunDir) -> Result<()> {
    let text = serde_json::to_string_pretty(row)? + "\n";
    write_whole(&run_dir.partial().join(RUN), &text)?;
    match row.end {
        End::Ok {
            stop: Stop::Interrupted,
        } => Ok(()),
        _ => run_dir.finish(),
    }
}

/// None after a second interrupt.
fn launch_cell(
    program: &Path,
    run_config: RunConfig,
    run_dir: &RunDir,
    interrupts: &Interrupts,
    progress: &mut Progress,
) -> Option<RunRow> {
    let mut follow = || {
        let task = CellTask {
            config: run_config.clone(),
            // The processes of a cell need not share this one's working folder.
            dir: fs::canonicalize(run_dir.begin()?)?,
        };
        CellProcess::start(program, &task)?.follow(interrupts, progress)
    };
    follow().unwrap_or_else(|error| Some(died(run_config.clone(), &error)))
}

/// The row of a cell whose process could not say itself how it ended.
fn died(config: RunConfig, error: &anyhow::Error) -> RunRow {
    RunRow {
        schema: SCHEMA,
        cell: config.cell.id(),
        config,
        end: End::Failed {
            stage: "the cell's process".to_owned(),
            reason: one_line(&format!("{error:#}")),
        },
        network: Network::default(),
        started_unix_s: unix_s(),
        took_ms: 0,
        overhead_ms: None,
        stages: Vec::new(),
        probe_ns: None,
        blocks: None,
    }
}

/// Two sweeps into one folder would be a mess.
fn lock(dir: &Path) -> Result<fs::File, Failure> {
    let path = dir.join(".lock");
    let file =
        fs::File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err(bad_input(anyhow!(
            "{}: another sweep is writing there",
            dir.display()
        ))),
    }
}

/// Others on the machine disturb what is measured.
fn warn_of_company(progress: &Progress) {
    let own = std::process::id().to_string();
    let others = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let is_process = name
                .to_string_lossy()
                .bytes()
                .all(|byte| byte.is_ascii_digit());
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = command.split(|byte| *byte == 0).collect();
            is_process
                && name != *own
                && words
                    .first()
                    .is_some_and(|program| program.ends_with(b"latency-benchmark"))
                && words.get(1) == Some(&&b"sweep"[..])
        });
    if others.count() > 0 {
        progress.warn("another sweep is running on this machine; both will measure each other");
    }
    let load = fs::read_to_string("/proc/loadavg").ok();
    let load: Option<f64> = load.and_then(|text| text.split(' ').next()?.parse().ok());
    if let Some(load) = load.filter(|load| *load > 0.5) {
        progress.warn(&format!(
            "the load average is {load}; other work on this machine is measured too"
        ));
    }
}
