//! `run.json`: the configuration of a run, how it ended, and the checksums of its files.

use std::fmt;
use std::path::Path;

use crate::{Counters, DelayLineReport, LabFacts, NetworkCard, RttReport};
use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::checksums::{Checksums, check, checksums_of_folder, sealed};
use crate::files::{RUN, write_whole};
use crate::plausible::{CALL_NS, COUNT, MS, PEERS, UNIX_S, WHAT_THE_TYPE_ALLOWS, plausible};
use crate::{Machine, RunConfig, shown_as_serialised};

/// `run.json`, written when a launch has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRow {
    pub schema: u32,
    pub cell: String,
    pub config: RunConfig,
    #[serde(flatten)]
    pub outcome: RunOutcome,
    pub network: NetworkReport,
    /// The verb of another measurement of this tool that ran on the machine meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// The machine, if it is not that of the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    pub started_unix_s: u64,
    pub took_ms: u64,
    /// The part of `took_ms` that was not planned for warm-up, settling and slices.
    pub overhead_ms: Option<u64>,
    pub stages: Vec<StageTime>,
    /// The time that recording a poll takes. Null where no poll is recorded.
    pub probe_ns: Option<f64>,
    pub blocks: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Messages>,
    /// The number of unanswered requests for each peer that saturates throughput, if central found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Checksums>,
}

plausible! { RunRow;
    schema cell config outcome network beside machine stages blocks messages outstanding stall files: WHAT_THE_TYPE_ALLOWS;
    started_unix_s: UNIX_S;
    took_ms overhead_ms: MS;
    probe_ns: CALL_NS;
}

impl RunRow {
    pub fn is_measured(&self) -> bool {
        matches!(self.outcome, RunOutcome::Ok { .. })
    }

    /// Writes `run.json` into the folder of its run, with the checksums of all files there. It is the last file to be written.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let row = RunRow {
            files: Some(checksums_of_folder(dir)?),
            ..self.clone()
        };
        write_whole(&dir.join(RUN), &sealed(&row)?)
    }

    /// Writes `run.json` again. The checksums of the other files stay the same.
    pub fn rewrite(mut self, dir: &Path) -> Result<()> {
        if let Some(own) = self.files.as_mut().and_then(|files| files.get_mut(RUN)) {
            own.clear();
        }
        write_whole(&dir.join(RUN), &sealed(&self)?)
    }

    /// Refuses files with another checksum. Returns the names of files that have none.
    pub fn check_files(&self, dir: &Path) -> Result<Vec<String>> {
        let files = self.files.as_ref();
        files.map_or(Ok(Vec::new()), |files| check(dir, files))
    }
}

/// The messages of peers that reached central, in slices of one variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    pub expected: u64,
    pub delivered: u64,
}

plausible! { Messages;
    expected delivered: COUNT;
}

/// A stream on which both ends send all the time, and at least one direction stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    pub variant: usize,
    pub peer: usize,
    pub after_ms: u64,
    pub central: StreamEnd,
    pub other: Option<StreamEnd>,
}

plausible! { Stall;
    variant central other: WHAT_THE_TYPE_ALLOWS;
    peer: PEERS;
    after_ms: MS;
}

/// The bytes of its application that one end of a stream has sent and received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamEnd {
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub unsent_bytes: u64,
    pub sent_nothing_ms: u64,
    pub received_nothing_ms: u64,
    pub credit_bytes: Option<u64>,
    pub unread_bytes: Option<u64>,
}

plausible! { StreamEnd;
    sent_bytes received_bytes unsent_bytes credit_bytes unread_bytes: COUNT;
    sent_nothing_ms received_nothing_ms: MS;
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (peer, after_s) = (self.peer, self.after_ms as f64 / 1e3);
        write!(
            f,
            "the stream to peer {peer} stalled after {after_s:.1} s: central {}",
            self.central
        )?;
        match &self.other {
            Some(other) => write!(f, "; the peer {other}"),
            None => f.write_str("; the peer does not answer"),
        }
    }
}

impl fmt::Display for StreamEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "has sent {} bytes and nothing for {} ms, has received {} bytes and nothing for {} ms, and waits to send {} bytes",
            self.sent_bytes,
            self.sent_nothing_ms,
            self.received_bytes,
            self.received_nothing_ms,
            self.unsent_bytes
        )
    }
}

/// The stages of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    #[serde(rename = "wiring the lab")]
    WiringLab,
    #[serde(rename = "measuring the round trip")]
    MeasuringRoundTrip,
    #[serde(rename = "starting the peers")]
    StartingPeers,
    #[serde(rename = "connecting")]
    Connecting,
    #[serde(rename = "measuring")]
    Measuring,
    #[serde(rename = "waiting for the nodes to end")]
    WaitingForNodes,
    #[serde(rename = "taking down the lab")]
    TakingDownLab,
    /// The process of the cell did not start, or ended without naming a stage.
    #[serde(rename = "running the cell's process")]
    RunningCell,
    /// The only stage of an application.
    #[serde(rename = "recording")]
    Recording,
}

shown_as_serialised!(Stage);

impl Stage {
    /// Whether the nodes run in this stage, so that their program may be the cause of a failure.
    pub fn is_of_nodes(self) -> bool {
        matches!(self, Stage::Connecting | Stage::Measuring)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTime {
    pub stage: Stage,
    pub took_ms: u64,
}

plausible! { StageTime;
    stage: WHAT_THE_TYPE_ALLOWS;
    took_ms: MS;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum RunOutcome {
    Ok {
        stop: Stop,
    },
    /// The network was not as requested, and nothing was measured.
    Invalid {
        reason: String,
    },
    /// Something broke. The slices that were measured before are kept.
    Failed {
        stage: Stage,
        reason: String,
    },
}

impl RunOutcome {
    pub const INTERRUPTED: RunOutcome = RunOutcome::Ok {
        stop: Stop::Interrupted,
    };

    /// Returns why the run stopped measuring. If it failed or is invalid, the error says so in the words of all progress
    /// lines, such as "FAILED while connecting: central was killed by signal 9".
    pub fn stop_or_problem(&self) -> Result<Stop, String> {
        match self {
            RunOutcome::Ok { stop } => Ok(*stop),
            RunOutcome::Invalid { reason } => Err(format!("INVALID: {reason}")),
            RunOutcome::Failed { stage, reason } => Err(format!("FAILED while {stage}: {reason}")),
        }
    }

    /// The end of a sentence about a subject that failed. This is how its launch without the inserted lines ended.
    pub fn sentence_without_graft(&self) -> String {
        match self {
            RunOutcome::Ok { .. } => {
                "failed, and answers without the inserted lines: they may be the \
                cause. Please report it to this project."
                    .to_owned()
            }
            RunOutcome::Failed { stage, reason } => format!(
                "also fails without the inserted lines, which are not the cause: {stage}: {reason}"
            ),
            RunOutcome::Invalid { reason } => {
                format!("failed, and could not be launched without the inserted lines: {reason}")
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// Every change was known precisely enough. If the cell was explained, there were enough stack samples.
    Precise,
    Cap,
    Interrupted,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NetworkReport {
    pub lab: Option<LabFacts>,
    pub rtt: Option<RttReport>,
    pub counters: Option<Counters>,
    pub delay_line: Option<DelayLineReport>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<NetworkCard>,
}

plausible! { NetworkReport;
    lab rtt counters delay_line cards: WHAT_THE_TYPE_ALLOWS;
}
