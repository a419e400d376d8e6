//! One cell for hours: a row at a time, so that slow growth is seen.

pub(crate) mod args;

use std::{
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use lab::move_to;
use program::{Failure, in_words, one_line};
use run_format::{
    checksums::of_file,
    files::{BLOCKS, EDITS, SCHEMA, SOAK, SOAK_ROWS, unix_s, write_json, write_whole},
    run_row::{End, NetworkReport, RunRow},
    soak::{SoakConfig, SoakEnd, SoakFile, SoakRow},
    table::TableWriters,
};

use self::args::SoakArgs;
use crate::{
    cell::hosts::round_trip,
    cell_process::{CellEvent, measure_cell},
    interrupts::Interrupts,
    manifest::{command, machine, tool},
    new_folder,
    node_program::describe,
    other_load,
    progress::{INTERRUPTED, MEASURED, Progress, SOME_FAILED},
    watched_folder::WatchedFolder,
};

pub(crate) fn run(args: SoakArgs, interrupts: &Interrupts) -> Result<ExitCode, Failure> {
    let (mut config, program, dir) = args.asked()?;
    new_folder::refuse(&dir, "")?;
    let program = program.plain(&config.node)?;
    let description = describe(&program)?;
    if config.lab.peer_hosts.is_some() {
        config.cell.rtt_ms = round_trip(&plan::run::soak(&config), &program)?;
    }
    new_folder::create(&dir, "")?;
    let mut file = SoakFile {
        schema: SCHEMA,
        command: command(),
        created_unix_s: unix_s(),
        config,
        tool: tool(&description),
        machine: machine(),
        end: None,
    };
    write_whole(&dir.join(EDITS), &description.edits)?;
    write_json(&dir.join(SOAK), &file)?;
    let mut end = measure(&file.config, &program, &dir, interrupts)?;
    end.sha256 = of_file(&dir.join(SOAK_ROWS)).ok();
    end.blocks_sha256 = of_file(&dir.join(BLOCKS)).ok();
    let code = match &end.end {
        &End::INTERRUPTED => INTERRUPTED,
        End::Ok { .. } => MEASURED,
        End::Invalid { .. } | End::Failed { .. } => SOME_FAILED,
    };
    file.end = Some(end);
    write_json(&dir.join(SOAK), &file)?;
    Ok(ExitCode::from(code))
}

/// Writes the rows as they come. A failure is an end of its own, after the last row.
fn measure(
    config: &SoakConfig,
    program: &Path,
    dir: &Path,
    interrupts: &Interrupts,
) -> Result<SoakEnd, Failure> {
    // Nothing but central runs on central's core.
    move_to(&config.lab.placement.peers).context("cannot leave central's core")?;
    let mut tables = TableWriters::create(dir, &[SOAK_ROWS])?;
    let mut progress = Progress::new(config.duration_ms, false);
    for warning in other_load::warnings() {
        progress.warn(&warning);
    }
    let folder = WatchedFolder::open(dir, SOAK)?;
    progress.show("connecting".to_owned());
    let (mut rows, mut restarts) = (0, None);
    let mut lines = SparseLines::new(config.duration_ms);
    let row = measure_cell(
        plan::run::soak(config),
        program.into(),
        dir,
        interrupts,
        |event| {
            match event {
                CellEvent::Row(row) => {
                    folder.check()?;
                    tables.row(SOAK_ROWS, &row)?;
                    tables.flush()?;
                    rows += 1;
                    restarts = row.restarts.or(restarts);
                    progress.advance((row.interval_s * 1e3) as u64);
                    let line = in_short(&row, config.cell.peers);
                    if !progress.is_bar() && lines.is_due() {
                        let at = in_words(Duration::from_secs_f64(row.at_s));
                        progress.line(&format!("[{at}] {line}"));
                    }
                    progress.show(line);
                }
                CellEvent::Interrupt => progress.warn("stopping; Ctrl-C again stops at once"),
                CellEvent::Block(_) | CellEvent::Tick => progress.tick(),
            }
            Ok(())
        },
    );
    folder.check()?;
    if let Err(error) = tables.finish() {
        progress.warn(&one_line(&format!("{error:#}")));
    }
    let end = end(row, rows, restarts);
    progress.finish(&summary(&end), dir);
    Ok(end)
}

/// Lines without a bar come about thirty times in a soak.
struct SparseLines {
    every: Duration,
    last: Option<Instant>,
}

impl SparseLines {
    fn new(duration_ms: u64) -> SparseLines {
        const LINES: u32 = 30;
        SparseLines {
            every: Duration::from_millis(duration_ms) / LINES,
            last: None,
        }
    }

    fn is_due(&mut self) -> bool {
        let is_due = self.last.is_none_or(|last| last.elapsed() >= self.every);
        if is_due {
            self.last = Some(Instant::now());
        }
        is_due
    }
}

/// A row of nobody is that of a cell which a second interrupt has ended.
fn end(row: Option<RunRow>, rows: u64, restarts: Option<u64>) -> SoakEnd {
    let interrupted = SoakEnd {
        end: End::INTERRUPTED,
        rows,
        restarts,
        took_ms: None,
        stages: Vec::new(),
        probe_ns: None,
        network: NetworkReport::default(),
        sha256: None,
        blocks_sha256: None,
    };
    row.map_or(interrupted.clone(), |row| SoakEnd {
        end: row.end,
        took_ms: Some(row.took_ms),
        stages: row.stages,
        probe_ns: row.probe_ns,
        network: row.network,
        ..interrupted
    })
}

fn in_short(row: &SoakRow, peers: usize) -> String {
    const MIB: f64 = (1 << 20) as f64;
    let slow = match row.connection_polls {
        0 => "-".to_owned(),
        polls => format!(
            "{:.1}",
            100.0 * row.connection_slow_polls as f64 / polls as f64
        ),
    };
    let memory = row.resident_bytes.map_or_else(String::new, |bytes| {
        format!("  {:.1} MiB", bytes as f64 / MIB)
    });
    let restarts = match row.restarts {
        None | Some(0) => String::new(),
        Some(restarts) => format!("  {restarts} restarts"),
    };
    format!(
        "{slow} % slow  {} of {peers} peers{memory}  {} tasks{restarts}",
        row.peers_connected, row.tasks
    )
}

fn summary(end: &SoakEnd) -> String {
    let how = match &end.end {
        &End::INTERRUPTED => "; interrupted".to_owned(),
        End::Ok { .. } => String::new(),
        End::Invalid { reason } => format!("; INVALID: {reason}"),
        End::Failed { stage, reason } => format!("; FAILED while {stage}: {reason}"),
    };
    let restarts = match end.restarts {
        None | Some(0) => String::new(),
        Some(restarts) => format!(", {restarts} restarts"),
    };
    format!("{} rows{restarts}{how}", end.rows)
}
