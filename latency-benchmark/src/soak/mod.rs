//! One cell for hours: a row at a time, so that what only grows slowly is seen.

pub(crate) mod args;
pub(crate) mod churn;
pub(crate) mod measure;
mod progress;
pub(crate) mod turns;

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use self::{args::SoakArgs, churn::Churn, progress::Progress};
use crate::{
    cell::{CellTask, Told},
    cell_process::{CellProcess, Heard},
    company,
    failure::{Failure, one_line},
    observe::process::move_to,
    signals::{Interrupts, Signals},
    store::{
        new_folder,
        rows::{End, Network, RunRow, Stop},
        soak::{SoakEnd, SoakFile, SoakWriter},
    },
};

const MEASURED: u8 = 0;
const FAILED: u8 = 1;
const INTERRUPTED: u8 = 130;

/// What a cell has to know of a soak, beyond what it knows of a run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SoakPlan {
    pub(crate) interval_ms: u64,
    pub(crate) churn: Churn,
}

pub(crate) fn run(args: SoakArgs) -> Result<ExitCode, Failure> {
    let (config, dir) = args.asked()?;
    new_folder::create(&dir, "")?;
    let mut file = SoakFile::new(config);
    file.write(&dir)?;
    let end = measure(&file, &dir)?;
    let code = match &end.end {
        End::Ok {
            stop: Stop::Interrupted,
        } => INTERRUPTED,
        End::Ok { .. } => MEASURED,
        End::Invalid { .. } | End::Failed { .. } => FAILED,
    };
    file.end = Some(end);
    file.write(&dir)?;
    Ok(ExitCode::from(code))
}

/// Writes the rows as they come. What breaks on the way is an end of its own, after the last row.
fn measure(file: &SoakFile, dir: &Path) -> Result<SoakEnd, Failure> {
    let signals = Signals::block()?;
    let config = &file.config;
    // Off central's core, which is to be central's alone.
    move_to(&config.lab.placement.peers).context("cannot leave central's core")?;
    let mut writer = SoakWriter::create(dir)?;
    let interrupts = Interrupts::count(signals)?;
    let mut progress = Progress::new(config);
    for warning in company::warnings() {
        progress.warn(&warning);
    }
    let mut written = Written::default();
    let mut follow = || {
        let task = CellTask {
            config: config.run(),
            soak: Some(SoakPlan {
                interval_ms: config.interval_ms,
                churn: config.churn,
            }),
            // The processes of a cell need not share this one's working folder.
            dir: fs::canonicalize(dir)?,
        };
        CellProcess::start(Path::new("/proc/self/exe"), &task)?.follow(&interrupts, |heard| {
            match heard {
                Heard::Told(Told::Row(row)) => {
                    writer.row(row)?;
                    written.rows += 1;
                    written.restarts = row.restarts.or(written.restarts);
                    progress.row(row);
                }
                Heard::Told(_) => {}
                Heard::Nothing => progress.tick(),
                Heard::Interrupt => progress.warn("stopping; once more to stop at once"),
            }
            Ok(())
        })
    };
    let end = match follow() {
        Ok(Some(row)) => written.end(row),
        Ok(None) => written.end_without_a_word(End::Ok {
            stop: Stop::Interrupted,
        }),
        Err(error) => written.end_without_a_word(End::Failed {
            stage: "the cell's process".to_owned(),
            reason: one_line(&format!("{error:#}")),
        }),
    };
    if let Err(error) = writer.finish() {
        progress.warn(&one_line(&format!("{error:#}")));
    }
    progress.finish(&in_words(&end), dir);
    Ok(end)
}

/// What is on disk.
#[derive(Clone, Copy, Default)]
struct Written {
    rows: u64,
    restarts: Option<u64>,
}

impl Written {
    fn end(self, row: RunRow) -> SoakEnd {
        SoakEnd {
            end: row.end,
            rows: self.rows,
            restarts: self.restarts,
            took_ms: Some(row.took_ms),
            stages: row.stages,
            probe_ns: row.probe_ns,
            network: row.network,
        }
    }

    /// Of a cell whose process could not say how it ended.
    fn end_without_a_word(self, end: End) -> SoakEnd {
        SoakEnd {
            end,
            rows: self.rows,
            restarts: self.restarts,
            took_ms: None,
            stages: Vec::new(),
            probe_ns: None,
            network: Network::default(),
        }
    }
}

fn in_words(end: &SoakEnd) -> String {
    let how = match &end.end {
        End::Ok {
            stop: Stop::Interrupted,
        } => "; interrupted".to_owned(),
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
