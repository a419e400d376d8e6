//! Empties the buffers, and looks whether all is well meanwhile; and sums that the kernel and the runtime keep.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fs, io};

use crate::slices::cotenant::Bell;
use crate::slices::{ObservedSlice, Observers};
use nix::time::{ClockId, clock_gettime};
use poll_probe::{Mode, Variant, VariantId};
use rand::RngExt;
use run_format::{Budgets, Ended, SliceRow};
use tokio::runtime::Handle;

use crate::Process;
use crate::guard::{Guard, fires};
use crate::length::PIECE;
use crate::live::Feed;

pub(crate) struct Recording {
    pub(crate) observers: Observers,
    pub(crate) bell: Bell,
    pub(crate) guard: Guard,
    pub(crate) sampler: Sampler,
    pub(crate) feed: Feed,
    /// The file that switches it on and off.
    pub(crate) control: Option<PathBuf>,
    /// Nothing is ever sent. Without a sender the application has ended the comparison.
    pub(crate) stopped: Receiver<()>,
    /// The longest time by which this thread was late in the block.
    pub(crate) latest: Duration,
}

impl Recording {
    pub(crate) fn now_ns(&self) -> u64 {
        self.observers.recorder.now_ns()
    }

    /// Puts budgets in force, with recording.
    pub(crate) fn install(&self, budgets: Budgets) -> VariantId {
        let mode = Mode::Minimal;
        let budgets = budgets.in_central();
        Variant { budgets, mode }.install()
    }

    /// Whether the control file has anything else than `on`. No file is `on`.
    pub(crate) fn is_off(&self) -> bool {
        let text = self.control.as_ref().map(fs::read_to_string);
        match text {
            Some(Ok(text)) => text.trim() != "on",
            Some(Err(error)) => error.kind() != io::ErrorKind::NotFound,
            None => false,
        }
    }

    /// While it is off, no budget is in force and nothing is recorded. `end` is later by that time.
    pub(crate) fn pause_while_off(&mut self, end: &mut Instant) -> Result<(), Ended> {
        while self.is_off() {
            Variant::default().install();
            let began = Instant::now();
            self.collect_for(PIECE, None, false)?;
            *end += began.elapsed();
        }
        Ok(())
    }

    /// Collects for this long what belongs to the slice. Timers are checked if it has a turn.
    pub(crate) fn collect_for(
        &mut self,
        time: Duration,
        into: Option<&mut ObservedSlice>,
        is_turn: bool,
    ) -> Result<(), Ended> {
        /// At random, so as not to keep step with anything. A co-tenant is woken as often.
        const PAUSE_US: std::ops::Range<u64> = 5_000..15_000;
        let end = Instant::now() + time;
        let mut slices = Vec::from_iter(into);
        loop {
            let planned = Duration::from_micros(rand::rng().random_range(PAUSE_US));
            let planned = planned.min(end.saturating_duration_since(Instant::now()));
            let asleep = Instant::now();
            let ended = match self.stopped.recv_timeout(planned) {
                Err(RecvTimeoutError::Timeout) => Ok(()),
                _ => Err(Ended::Stopped),
            };
            self.latest = self.latest.max(asleep.elapsed().saturating_sub(planned));
            self.bell.ring(&self.observers.recorder);
            self.observers.collect(&mut slices);
            ended?;
            let mut cotenants = self.observers.cotenants.iter();
            if cotenants.any(|(_, log)| log.is_abandoned()) {
                return Err(Ended::Failed {
                    reason: "the runtime in which it was started has ended".to_owned(),
                });
            }
            if let Some(Err(reason)) = self.guard.check.as_mut().map(|check| check()) {
                fires(format!("the application's own check: {reason}"))?;
            }
            if let Some(slice) = slices.last().filter(|_| is_turn) {
                self.guard.check_timers(slice)?;
            }
            if Instant::now() >= end {
                return Ok(());
            }
        }
    }
}

/// Sums since the start.
pub(crate) struct Sampler {
    runtime: Handle,
    process: Arc<Process>,
    began: Instant,
}

impl Sampler {
    pub(crate) fn new(runtime: Handle, process: Arc<Process>) -> Sampler {
        let began = Instant::now();
        Sampler {
            runtime,
            process,
            began,
        }
    }

    /// In the columns of a slice that are such sums. The others are empty. To be called on the recording thread.
    pub(crate) fn sums(&self) -> SliceRow {
        let all_ns = cpu_ns(ClockId::CLOCK_PROCESS_CPUTIME_ID);
        let own_ns = cpu_ns(ClockId::CLOCK_THREAD_CPUTIME_ID);
        let metrics = self.runtime.metrics();
        let workers = || 0..metrics.num_workers();
        let busy = workers().map(|it| metrics.worker_total_busy_duration(it));
        let bytes = self.process.bytes.load(Ordering::Relaxed);
        SliceRow {
            sampled_ms: self.began.elapsed().as_secs_f64() * 1e3,
            // An application that has counted none may never do so.
            bytes: (bytes > 0).then_some(bytes),
            central_cpu_ns: all_ns.zip(own_ns).map(|(all, own)| all.saturating_sub(own)),
            observers_cpu_ns: own_ns,
            runtime_busy_ns: busy.map(|it| it.as_nanos() as u64).sum(),
            runtime_parks: workers().map(|it| metrics.worker_park_count(it)).sum(),
            ..SliceRow::default()
        }
    }
}

fn cpu_ns(clock: ClockId) -> Option<u64> {
    let time = clock_gettime(clock).ok()?;
    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

pub(crate) fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
