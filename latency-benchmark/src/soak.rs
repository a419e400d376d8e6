//! The verb `soak`: measures one cell for hours, a row at a time, so that slow growth is seen.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use program::number::decimal;
use program::{Failure, in_one_line, in_words, reject};
use run_format::checksums::sha256_of_file;
use run_format::files::{BLOCKS, EDITS, SCHEMA, SOAK, SOAK_ROWS, unix_s, write_json, write_whole};
use run_format::{
    BUDGET_FORMS, Budgets, CHURN_FORMS, Cell, Churn, Load, Machine, PAYLOAD_FORMS, Payload,
    RunOutcome, RuntimeConfig, SoakConfig, SoakEnd, SoakFile, SoakRow, Stop, TableWriters, plan,
};

use crate::args::{HostArgs, NewRunArgs, NodeArgs, RttArg, refuse_unknown_sites};
use crate::cell::{CellMessage, CellPrograms, round_trip, row_without_figures};
use crate::manifest::{command, tool};
use crate::node_program::{NodeProgramArgs, describe};
use crate::progress::{Progress, RunCounts};
use crate::results_folder::{self, ResultsFolder};
use crate::session::Session;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SoakArgs {
    /// Hours to measure, with decimals
    #[arg(long, default_value_t = 8.0, allow_hyphen_values = true, value_parser = decimal)]
    hours: f64,
    /// Number of peers
    #[arg(long, value_name = "N", default_value_t = 18)]
    peers: usize,
    #[command(flatten)]
    rtt: RttArg,
    #[command(flatten)]
    node: NodeArgs,
    #[arg(long, value_name = "SIZE", default_value = "64KiB", help = format!("What a request carries: {PAYLOAD_FORMS}"))]
    payload: Payload,
    #[command(flatten)]
    program: NodeProgramArgs,
    #[arg(long, value_name = "K/TIME", default_value = "none", allow_hyphen_values = true, help = format!("Restart one peer at a time, in turn, this often: {CHURN_FORMS}"))]
    churn: Churn,
    #[arg(long, value_name = "BUDGET", default_value = "none", help = format!("The budgets in force: {BUDGET_FORMS}"))]
    budget: Budgets,
    /// Length of a row of the series
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    new_run: NewRunArgs,
}

const EXAMPLES: &str = "Examples:
  latency-benchmark soak --hours 8 --peers 18 --churn 1/min                        a night
  latency-benchmark soak --hours 0.1 --peers 2 --churn 12/min --interval 1         a first look
  latency-benchmark soak --hours 8 --peers 18 --workload idle --interval 30        does anything grow while the nodes are idle?
  latency-benchmark soak --hours 24 --peers 5 --rtt 50 --budget muxer=1/deferred --name deferred

Every row is written before the next one; `analysis report results/NAME` says what drifts.
Ctrl-C keeps all rows; a second Ctrl-C stops at once.
Exit codes: 0 measured to the end; 1 it failed, and the rows before are kept; 2 wrong arguments; 130 interrupted.";

impl SoakArgs {
    fn config(&self) -> Result<SoakConfig, Failure> {
        const MOST_HOURS: f64 = 31.0 * 24.0;
        const MS_PER_HOUR: f64 = 3_600_000.0;
        let hours = self.hours;
        if hours > MOST_HOURS {
            reject!("--hours {hours}: a soak lasts at most {MOST_HOURS} hours");
        }
        let duration_ms = (hours * MS_PER_HOUR).round() as u64;
        let interval_ms = self.interval * 1000;
        if interval_ms > duration_ms {
            reject!(
                "--interval {}: a soak of {} s has no row of that length (accepted: at most --hours)",
                self.interval,
                duration_ms as f64 / 1e3
            );
        }
        let (peers, rtt_ms) = (self.peers, self.rtt.rtt);
        let node = self.node.node(self.program.stack)?;
        let payload = self.node.profile_payload(peers)?.unwrap_or(self.payload);
        let pace = self.node.pace(&[payload])?;
        refuse_unknown_sites(self.program.stack, &node, &self.budget)?;
        let lab = self.hosts.network(&[peers], &[rtt_ms], 1)?;
        Ok(SoakConfig {
            cell: Cell {
                peers,
                rtt_ms,
                payload_bytes: payload,
            },
            duration_ms,
            interval_ms,
            churn: self.churn,
            budgets: self.budget,
            node,
            load: Load { payload, pace },
            runtime: RuntimeConfig::CURRENT_THREAD,
            lab,
            seed: self.new_run.seed(),
        })
    }
}

pub(crate) fn run(args: SoakArgs) -> Result<u8, Failure> {
    let mut config = args.config()?;
    let dir = args.new_run.dir()?;
    results_folder::refuse_existing(&dir, "")?;
    let program = args.program.measuring(&config.node)?;
    let description = describe(&program)?;
    if config.lab.peer_hosts.is_some() {
        config.cell.rtt_ms = round_trip(&plan::run::run_config_of_soak(&config), &program)?;
    }
    results_folder::create(&dir)?;
    let mut file = SoakFile {
        schema: SCHEMA,
        command: command(),
        created_unix_s: unix_s(),
        config,
        tool: tool(&description),
        machine: Machine::this_host(),
        end: None,
    };
    write_whole(&dir.join(EDITS), &description.edits)?;
    write_json(&dir.join(SOAK), &file)?;
    let folder = ResultsFolder::lock(&dir, SOAK, false)?;
    let mut end = measure(&file.config, &program, folder)?;
    end.sha256 = sha256_of_file(&dir.join(SOAK_ROWS)).ok();
    end.blocks_sha256 = sha256_of_file(&dir.join(BLOCKS)).ok();
    let mut counts = RunCounts::default();
    counts.add(&end.outcome);
    counts.interrupted = end.outcome == RunOutcome::INTERRUPTED;
    file.end = Some(end);
    write_json(&dir.join(SOAK), &file)?;
    Ok(counts.exit_code())
}

/// Writes each row when it is measured. A failure ends the soak, and its rows stay.
fn measure(config: &SoakConfig, program: &Path, folder: ResultsFolder) -> Result<SoakEnd, Failure> {
    /// The number of lines that are printed if the output is no terminal.
    const LINES: u64 = 30;
    let dir = folder.path.clone();
    let mut tables = TableWriters::create(&dir, &[SOAK_ROWS])?;
    let peers = &config.lab.placement.peers;
    let session = Session::begin(folder, Progress::new(config.duration_ms, false), peers)?;
    let progress = &session.progress;
    progress.show("connecting");
    let run = plan::run::run_config_of_soak(config);
    let programs = CellPrograms {
        central: program.to_owned(),
        peer: program.to_owned(),
    };
    let rows_of_a_line = (config.duration_ms / config.interval_ms).div_ceil(LINES);
    let (mut rows, mut restarts) = (0_u64, None);
    let row = session.measure(run.clone(), &programs, &dir, None, |message| {
        let CellMessage::Row(row) = message else {
            return Ok(());
        };
        session.folder.check()?;
        tables.row(SOAK_ROWS, &row)?;
        tables.flush()?;
        restarts = row.restarts.or(restarts);
        progress.advance((row.interval_s * 1e3) as u64);
        let line = progress_line(&row, config.cell.peers);
        if !progress.has_bar() && rows.is_multiple_of(rows_of_a_line) {
            let time = in_words(Duration::from_secs_f64(row.at_s));
            progress.line(&format!("[{time}] {line}"));
        }
        rows += 1;
        progress.show(&line);
        Ok(())
    })?;
    if let Err(error) = tables.finish() {
        progress.warn(&in_one_line(&error));
    }
    let took_ms = row.as_ref().map(|row| row.took_ms);
    // A second interrupt has ended the cell.
    let row = row.unwrap_or_else(|| row_without_figures(run, RunOutcome::INTERRUPTED));
    let end = SoakEnd {
        outcome: row.outcome,
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

fn progress_line(row: &SoakRow, peers: usize) -> String {
    const MIB: f64 = (1 << 20) as f64;
    let slow = match row.connection_polls {
        0 => String::new(),
        polls => format!(
            "{:.1} % slow  ",
            100.0 * row.connection_slow_polls as f64 / polls as f64
        ),
    };
    let memory = row.resident_bytes.map_or_else(String::new, |bytes| {
        format!("  {:.1} MiB", bytes as f64 / MIB)
    });
    format!(
        "{slow}{} of {peers} peers{memory}  {} tasks{}",
        row.peers_connected,
        row.tasks,
        restarts("  ", row.restarts)
    )
}

fn summary(end: &SoakEnd) -> String {
    let how = match end.outcome.stop_or_problem() {
        Ok(Stop::Interrupted) => "; interrupted".to_owned(),
        Ok(Stop::Precise | Stop::Cap) => String::new(),
        Err(problem) => format!("; {problem}"),
    };
    format!("{} rows{}{how}", end.rows, restarts(", ", end.restarts))
}

fn restarts(before: &str, restarts: Option<u64>) -> String {
    match restarts {
        None | Some(0) => String::new(),
        Some(restarts) => format!("{before}{restarts} restarts"),
    }
}
