//! What the machine did in a block.

use std::time::{Duration, Instant};

use anyhow::Result;
use run_format::{
    config::{Measurement, RuntimeConfig},
    files::{BLOCKS, WORK},
    protocol::CentralTask,
    table::TableWriters,
    tables::{BlockRow, WorkRow},
};

use super::sample::{Clocks, MachineUse, ns};

/// A block that is over, with everything from its first change of variant to its end.
pub(super) struct FinishedBlock {
    /// From 1.
    pub(super) number: u32,
    pub(super) used: Clocks,
    pub(super) machine: MachineUse,
    /// How long the fixed piece of work took.
    pub(super) work: Duration,
    pub(super) interruptions: Interruptions,
}

/// What keeps a block from being an ordinary one.
#[derive(Clone, Copy)]
pub(super) struct Interruptions {
    awake: Instant,
    /// The longest time from one moment at which the measuring thread was awake to the next, without the planned sleep.
    pub(super) late: Duration,
    /// How often another process of the cell was found stopped.
    pub(super) stops: Option<u64>,
}

impl Interruptions {
    pub(super) fn none() -> Interruptions {
        Interruptions {
            awake: Instant::now(),
            late: Duration::ZERO,
            stops: None,
        }
    }

    /// The measuring thread says this often. If it was stopped, wherever that was, it says so late.
    pub(super) fn is_awake(&mut self, planned: Duration) {
        self.late = self.late.max(self.awake.elapsed().saturating_sub(planned));
        self.awake = Instant::now();
    }
}

/// The tables of blocks.
pub(super) struct Blocks {
    tables: TableWriters,
    runtime: RuntimeConfig,
    /// A soak ends when it was to end.
    measures_again: bool,
    /// The time of those that the machine disturbed, if they are measured again.
    pub(super) disturbed: Duration,
}

impl Blocks {
    pub(super) fn create(task: &CentralTask) -> Result<Blocks> {
        Ok(Blocks {
            tables: TableWriters::create(&task.dir, &[BLOCKS, WORK])?,
            runtime: task.config.runtime,
            measures_again: !matches!(task.config.measurement, Measurement::Soak(_)),
            disturbed: Duration::ZERO,
        })
    }

    /// Returns whether the machine disturbed the block.
    pub(super) fn keep(&mut self, block: &FinishedBlock) -> Result<bool> {
        let row = block_row(block);
        let is_disturbed = row.disturbance(&self.runtime).is_some();
        if is_disturbed && self.measures_again {
            self.disturbed += Duration::from_secs_f64(row.duration_ms / 1e3);
        }
        let work = WorkRow {
            block: block.number,
            work_ns: ns(block.work),
        };
        self.tables.row(WORK, &work)?;
        self.tables.row(BLOCKS, &row)?;
        self.tables.flush()?;
        Ok(is_disturbed)
    }

    /// Waits until the disk has everything.
    pub(super) fn finish(self) -> Result<()> {
        self.tables.finish()
    }
}

fn block_row(block: &FinishedBlock) -> BlockRow {
    let FinishedBlock {
        used,
        machine,
        interruptions,
        ..
    } = block;
    // Two clocks cannot be read at once.
    let whole = |ms: f64| ms.abs().round();
    let (central, peers, delay_line) = (machine.central, machine.peers, machine.delay_line);
    BlockRow {
        block: block.number,
        duration_ms: used.at_ms,
        steal_ms: machine.times.steal_ms,
        central_core_steal_ms: machine.times.central_core_steal_ms,
        central_runqueue_ns: used.central.runqueue_ns,
        central_voluntary_switches: central.voluntary_switches,
        central_involuntary_switches: central.involuntary_switches,
        central_user_ms: central.user_ms,
        central_system_ms: central.system_ms,
        peers_user_ms: peers.user_ms,
        peers_system_ms: peers.system_ms,
        delay_line_user_ms: delay_line.user_ms,
        delay_line_system_ms: delay_line.system_ms,
        other_cpu_ms: other_cpu_ms(block),
        central_tcp_retransmits: machine.central_network.retransmits,
        peers_tcp_retransmits: machine.peers_network.retransmits,
        central_queue_drops: machine.central_network.queue_drops,
        peers_queue_drops: machine.peers_network.queue_drops,
        latest_ms: Some(interruptions.late.as_secs_f64() * 1e3),
        stops_found: interruptions.stops,
        suspended_ms: machine.times.suspended_ms.map(whole),
        clock_set_ms: machine.times.day_ms.map(whole),
    }
}

/// The time of processes that have nothing to do with the cell. Ticks can make it seem to be a little below zero.
fn other_cpu_ms(block: &FinishedBlock) -> Option<f64> {
    let FinishedBlock { used, machine, .. } = block;
    let threads = [used.central, used.helpers, used.observers].map(|it| it.cpu_ns);
    let threads_ns: u64 = threads.into_iter().sum::<Option<u64>>()?;
    let processes = [&machine.peers, &machine.delay_line].map(|it| it.user_ms.zip(it.system_ms));
    let processes_ms: f64 = processes
        .into_iter()
        .flatten()
        .map(|(user, system)| user + system)
        .sum();
    Some((machine.times.process_ms? - threads_ns as f64 / 1e6 - processes_ms).max(0.0))
}
