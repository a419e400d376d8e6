//! The use of the machine in a block, and of central's core before there are requests.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use node_ab::slices::{ObservedSlice, Sums, ns};
use poll_probe::Variant;
use run_format::files::{BLOCKS, IDLE, WORK};
use run_format::{BlockRow, CentralTask, HistogramOf, IdleRow, Measurement, TableWriters, WorkRow};

use super::sample::MachineReading;
use crate::observe::process;
use crate::observed_central::ObservedCentral;

/// Disturbances of a block that the measuring thread notices.
#[derive(Clone, Copy)]
pub(super) struct Interruptions {
    pub(super) awake: Instant,
    /// The longest time by which the measuring thread woke up late.
    late: Duration,
    /// The number of times that another process of the cell was found stopped.
    pub(super) stops: Option<u64>,
}

impl Interruptions {
    pub(super) fn none(now: Instant) -> Interruptions {
        Interruptions {
            awake: now,
            late: Duration::ZERO,
            stops: None,
        }
    }

    /// The measuring thread calls this after each sleep. If the thread was stopped, at whatever point, it calls this late.
    pub(super) fn note_awake(&mut self, now: Instant, planned: Duration) {
        self.late = self.late.max((now - self.awake).saturating_sub(planned));
        self.awake = now;
    }
}

/// Writes the rows of blocks.
pub(super) struct BlockWriter {
    pub(super) tables: TableWriters,
    /// Whether disturbed blocks are measured again. A soak ends at its time, so it measures none again.
    measures_again: bool,
    /// Whether other programs take turns with this one. Their CPU time would count as that of other processes.
    has_others_beside: bool,
    /// The time of the disturbed blocks that are measured again.
    pub(super) disturbed: Duration,
}

impl BlockWriter {
    pub(super) fn create(task: &CentralTask) -> Result<BlockWriter> {
        Ok(BlockWriter {
            tables: TableWriters::create(&task.dir, &[BLOCKS, WORK])?,
            measures_again: !matches!(task.config.measurement, Measurement::Soak(_)),
            has_others_beside: task.config.beside > 0,
            disturbed: Duration::ZERO,
        })
    }

    /// Writes the rows of a block. `machine` is the use of the machine from the block's first change of variant to its end,
    /// and `work` is how long the fixed piece of work took. Returns whether the machine disturbed the block.
    pub(super) fn write(
        &mut self,
        block: u32,
        MachineReading(machine): MachineReading,
        work: Duration,
        interruptions: &Interruptions,
    ) -> Result<bool> {
        // Two clocks cannot be read at the same time, so their difference is rounded.
        let whole = |ms: f64| ms.abs().round();
        let row = BlockRow {
            block,
            other_cpu_ms: other_cpu_ms(&machine).filter(|_| !self.has_others_beside),
            latest_ms: Some(interruptions.late.as_secs_f64() * 1e3),
            stops_found: interruptions.stops,
            suspended_ms: machine.suspended_ms.map(whole),
            clock_set_ms: machine.clock_set_ms.map(whole),
            ..machine
        };
        let is_disturbed = row.disturbance().is_some();
        if is_disturbed && self.measures_again {
            self.disturbed += Duration::from_secs_f64(row.duration_ms / 1e3);
        }
        let work_ns = ns(work);
        self.tables.row(WORK, &WorkRow { block, work_ns })?;
        self.tables.row(BLOCKS, &row)?;
        self.tables.flush()?;
        Ok(is_disturbed)
    }
}

/// The time of processes that do not belong to the cell. The kernel counts in ticks, so the difference can be a little below
/// zero.
fn other_cpu_ms(machine: &BlockRow) -> Option<f64> {
    let peers = machine.peers_user_ms.zip(machine.peers_system_ms);
    let delay_line = machine.delay_line_user_ms.zip(machine.delay_line_system_ms);
    let known = [peers, delay_line].into_iter().flatten();
    let known_ms: f64 = known.map(|(user, system)| user + system).sum();
    Some((machine.other_cpu_ms? - known_ms).max(0.0))
}

/// Observes central before it has work, and writes the table. A co-tenant that is woken then waits only for its core to wake
/// up, and all CPU time of central's threads is the suite's own.
pub(super) fn observe_idle(central: &mut ObservedCentral) -> Result<()> {
    /// Late work of connecting is over after this time.
    const SETTLE: Duration = Duration::from_millis(50);
    /// About 250 wake-ups. Their median is then known to a few percent.
    const OBSERVE: Duration = Duration::from_millis(250);
    thread::sleep(SETTLE);
    let observers = &mut central.observers;
    observers.collect(&mut []);
    let cpu_time = || process::cpu_time(&central.workers);
    let (began, before) = (Instant::now(), cpu_time());
    let (now_ns, peers) = (observers.recorder.now_ns(), central.task.config.cell.peers);
    let mut observed = ObservedSlice::open(Variant::default().install(), now_ns, now_ns, peers);
    thread::sleep(OBSERVE);
    let (used, took) = (cpu_time().since(before), began.elapsed());
    observers.collect(&mut [&mut observed]);
    let wake = |q| observed.histograms.quantile(HistogramOf::CotenantWake, q);
    let mut table = TableWriters::create(&central.task.dir, &[IDLE])?;
    table.row(
        IDLE,
        &IdleRow {
            duration_ms: took.as_secs_f64() * 1e3,
            central_cpu_ns: used.cpu_ns,
            wakes: observed.histograms.count(HistogramOf::CotenantWake),
            wake_p50_ns: wake(0.5),
            wake_p90_ns: wake(0.9),
        },
    )?;
    table.finish()
}
