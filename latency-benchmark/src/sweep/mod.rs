//! Measures the cells of a grid, one after the other, each on disk before the next.

pub(crate) mod args;
mod known;
mod progress;
mod schedule;
mod subjects;

use std::{fs, path::Path, process::ExitCode, time::Duration};

use anyhow::{Context, Result, anyhow};

use self::{
    args::{Asked, SweepArgs},
    known::Known,
    progress::Progress,
    schedule::schedule,
    subjects::Programs,
};
use crate::{
    cell::{CellTask, Told},
    cell_process::{CellProcess, Heard},
    company,
    config::RunConfig,
    failure::{Failure, bad_input, one_line},
    observe::process::move_to,
    signals::{Interrupts, Signals},
    store::{
        MANIFEST, RUN, SCHEMA,
        manifest::{Manifest, SweepConfig},
        new_folder,
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
    carry_out(args.asked()?, MANIFEST)
}

/// With a manifest in the file `name`.
pub(crate) fn carry_out(asked: Asked, name: &str) -> Result<ExitCode, Failure> {
    match asked {
        Asked::List(config) => list(&config),
        Asked::DryRun(config) => dry_run(&config),
        Asked::Measure(mut config, dir) => {
            new_folder::refuse(&dir, &go_on(&dir))?;
            let programs = Programs::prepare(&mut config)?;
            new_folder::create(&dir, &go_on(&dir))?;
            subjects::document(&config, &dir)?;
            let manifest = Manifest::new(config);
            manifest.write(&dir, name)?;
            measure(&manifest, &programs, &dir)
        }
        Asked::Resume(dir) => {
            let manifest = Manifest::resume(&dir, name)?;
            let programs = Programs::find(&manifest.config)?;
            measure(&manifest, &programs, &dir)
        }
    }
}

/// What is said of a folder that is there.
fn go_on(dir: &Path) -> String {
    format!(" (to go on with it: --resume {})", dir.display())
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
    for warning in company::warnings() {
        progress.warn(&warning);
    }
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
    if counts.exit_code() != MEASURED {
        eprintln!("to measure the rest: --resume {}", dir.display());
    }
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
            soak: None,
            // The processes of a cell need not share this one's working folder.
            dir: fs::canonicalize(run_dir.begin()?)?,
        };
        CellProcess::start(program, &task)?.follow(interrupts, |heard| {
            match heard {
                Heard::Told(Told::Block(block)) => progress.block(block),
                Heard::Told(_) => {}
                Heard::Nothing => progress.tick(),
                Heard::Interrupt => {
                    progress.warn("finishing the slice; once more to stop at once");
                }
            }
            Ok(())
        })
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
pub(crate) fn lock(dir: &Path) -> Result<fs::File, Failure> {
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
