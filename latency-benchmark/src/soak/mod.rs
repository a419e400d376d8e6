//! One cell for hours: a row at a time, so that slow growth is seen.

pub(crate) mod args;

use std::path::Path;
use std::time::Duration;

use program::{Failure, in_words, one_line};
use run_format::checksums::of_file;
use run_format::files::{BLOCKS, EDITS, SCHEMA, SOAK, SOAK_ROWS, unix_s, write_json, write_whole};
use run_format::manifest::Machine;
use run_format::run_row::End;
use run_format::soak::{SoakConfig, SoakEnd, SoakFile, SoakRow};
use run_format::table::TableWriters;

use self::args::SoakArgs;
use crate::cell::round_trip;
use crate::cell_task::{CellMessage, ended};
use crate::interrupts::Interrupts;
use crate::manifest::{command, tool};
use crate::node_program::describe;
use crate::progress::{Progress, RunCounts};
use crate::results_folder::{self, ResultsFolder};
use crate::session::Session;

pub(crate) fn run(args: SoakArgs, interrupts: &Interrupts) -> Result<u8, Failure> {
    let mut config = args.config()?;
    let dir = args.new_run.dir()?;
    results_folder::refuse_existing(&dir, "")?;
    let program = args.program.plain(&config.node)?;
    let description = describe(&program)?;
    if config.lab.peer_hosts.is_some() {
        config.cell.rtt_ms = round_trip(&plan::run::soak(&config), &program)?;
    }
    results_folder::create(&dir)?;
    let mut file = SoakFile {
        schema: SCHEMA,
        command: command(),
        created_unix_s: unix_s(),
        config,
        tool: tool(&description),
        machine: Machine::of_this_host(),
        end: None,
    };
    write_whole(&dir.join(EDITS), &description.edits)?;
    write_json(&dir.join(SOAK), &file)?;
    let folder = ResultsFolder::lock(&dir, SOAK, false)?;
    let mut end = measure(&file.config, &program, folder, interrupts)?;
    end.sha256 = of_file(&dir.join(SOAK_ROWS)).ok();
    end.blocks_sha256 = of_file(&dir.join(BLOCKS)).ok();
    let mut counts = RunCounts::default();
    counts.add(&end.end);
    counts.interrupted = end.end == End::INTERRUPTED;
    file.end = Some(end);
    write_json(&dir.join(SOAK), &file)?;
    Ok(counts.exit_code())
}

/// Writes the rows as they come. A failure is an end of its own, after the last row.
fn measure(
    config: &SoakConfig,
    program: &Path,
    folder: ResultsFolder,
    interrupts: &Interrupts,
) -> Result<SoakEnd, Failure> {
    /// Of a soak whose progress is no bar.
    const LINES: u64 = 30;
    let dir = folder.path.clone();
    let mut tables = TableWriters::create(&dir, &[SOAK_ROWS])?;
    let progress = Progress::new(config.duration_ms, false);
    let peers = &config.lab.placement.peers;
    let session = Session::begin(folder, progress, peers, interrupts)?;
    let progress = &session.progress;
    progress.show("connecting");
    let run = plan::run::soak(config);
    let rows_of_a_line = (config.duration_ms / config.interval_ms).div_ceil(LINES);
    let (mut rows, mut restarts) = (0_u64, None);
    let row = session.measure(run.clone(), (program, program), &dir, None, |message| {
        let CellMessage::Row(row) = message else {
            return Ok(());
        };
        session.folder.check()?;
        tables.row(SOAK_ROWS, &row)?;
        tables.flush()?;
        restarts = row.restarts.or(restarts);
        progress.advance((row.interval_s * 1e3) as u64);
        let line = in_short(&row, config.cell.peers);
        if !progress.is_bar() && rows.is_multiple_of(rows_of_a_line) {
            let at = in_words(Duration::from_secs_f64(row.at_s));
            progress.line(&format!("[{at}] {line}"));
        }
        rows += 1;
        progress.show(&line);
        Ok(())
    })?;
    if let Err(error) = tables.finish() {
        progress.warn(&one_line(&format!("{error:#}")));
    }
    let took_ms = row.as_ref().map(|row| row.took_ms);
    // A second interrupt has ended the cell.
    let row = row.unwrap_or_else(|| ended(run, End::INTERRUPTED));
    let end = SoakEnd {
        end: row.end,
        rows,
        restarts,
        took_ms,
        stages: row.stages,
        probe_ns: row.probe_ns,
        network: row.network,
        sha256: None,
        blocks_sha256: None,
    };
    progress.finish(&summary(&end), &dir);
    Ok(end)
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
