//! Empties the buffers, checks the guardrails meanwhile, and reads the counts of the kernel and of the runtime.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fs, io};

use nix::time::{ClockId, clock_gettime};
use poll_probe::{Mode, Variant, VariantId, muxer_bytes};
use rand::RngExt;
use run_format::{ApplicationOutcome, Budgets, SliceRow};
use tokio::runtime::Handle;

use crate::Process;
use crate::guard::{Guard, end_comparison};
use crate::length::PIECE;
use crate::live::Feed;
use crate::slices::cotenant::WakeSender;
use crate::slices::{ObservedSlice, Observers, ns};

pub(crate) struct Recording {
    pub(crate) observers: Observers,
    pub(crate) wake_sender: WakeSender,
    pub(crate) guard: Guard,
    pub(crate) counters: CounterReader,
    pub(crate) feed: Feed,
    /// The file that pauses the comparison.
    pub(crate) control: Option<PathBuf>,
    /// Nothing is ever sent over this channel. Its sender is dropped when the application ends the comparison.
    pub(crate) stopped: Receiver<()>,
    /// The longest time by which this thread woke up late in the block.
    pub(crate) latest: Duration,
}

impl Recording {
    pub(crate) fn now_ns(&self) -> u64 {
        self.observers.recorder.now_ns()
    }

    /// Puts budgets in force and records polls.
    pub(crate) fn install(&self, budgets: Budgets) -> VariantId {
        let variant = Variant {
            budgets: budgets.in_central(),
            mode: Mode::Minimal,
        };
        variant.install()
    }

    /// Whether there is a control file and it says anything else than `on`.
    pub(crate) fn is_paused(&self) -> bool {
        let text = self.control.as_ref().map(fs::read_to_string);
        match text {
            Some(Ok(text)) => text.trim() != "on",
            Some(Err(error)) => error.kind() != io::ErrorKind::NotFound,
            None => false,
        }
    }

    /// Waits while the comparison is paused. No budget is in force and nothing is recorded then, and `end` moves by that time.
    pub(crate) fn wait_while_paused(
        &mut self,
        end: &mut Instant,
    ) -> Result<(), ApplicationOutcome> {
        while self.is_paused() {
            Variant::default().install();
            let began = Instant::now();
            self.collect_for(PIECE, None, false)?;
            *end += began.elapsed();
        }
        Ok(())
    }

    /// Empties the buffers into the slice for this long. Lateness of timers is checked only in a turn.
    pub(crate) fn collect_for(
        &mut self,
        time: Duration,
        into: Option<&mut ObservedSlice>,
        is_turn: bool,
    ) -> Result<(), ApplicationOutcome> {
        /// The pause is random, so that it cannot coincide with periodic work. Each pause ends with a wake of the co-tenant.
        const PAUSE_US: std::ops::Range<u64> = 5_000..15_000;
        let end = Instant::now() + time;
        let mut slices = Vec::from_iter(into);
        loop {
            let pause = Duration::from_micros(rand::rng().random_range(PAUSE_US));
            let planned = pause.min(end.saturating_duration_since(Instant::now()));
            let asleep = Instant::now();
            let ended = match self.stopped.recv_timeout(planned) {
                Err(RecvTimeoutError::Timeout) => Ok(()),
                _ => Err(ApplicationOutcome::Stopped),
            };
            self.latest = self.latest.max(asleep.elapsed().saturating_sub(planned));
            self.wake_sender.wake();
            self.observers.collect(&mut slices);
            ended?;
            let mut cotenants = self.observers.cotenants.iter();
            if cotenants.any(|cotenant| cotenant.delays.is_abandoned()) {
                return Err(ApplicationOutcome::Failed {
                    reason: "the runtime in which it was started has ended".to_owned(),
                });
            }
            if let Some(Err(reason)) = self.guard.check.as_mut().map(|check| check()) {
                end_comparison(format!("the application's own check: {reason}"))?;
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

/// Reads running totals. The difference of two readings says what happened between them.
pub(crate) struct CounterReader {
    runtime: Handle,
    process: Arc<Process>,
    began: Instant,
}

impl CounterReader {
    pub(crate) fn new(runtime: Handle, process: Arc<Process>) -> CounterReader {
        CounterReader {
            runtime,
            process,
            began: Instant::now(),
        }
    }

    /// The columns of a slice that are running totals. The others are empty. The recording thread calls this, because its
    /// own time is left out.
    pub(crate) fn sums(&self) -> SliceRow {
        let all_ns = cpu_ns(ClockId::CLOCK_PROCESS_CPUTIME_ID);
        let own_ns = cpu_ns(ClockId::CLOCK_THREAD_CPUTIME_ID);
        let metrics = self.runtime.metrics();
        let workers = || 0..metrics.num_workers();
        let busy = workers().map(|worker| metrics.worker_total_busy_duration(worker));
        let bytes = self.process.bytes.load(Ordering::Relaxed) + muxer_bytes();
        SliceRow {
            sampled_ms: self.began.elapsed().as_secs_f64() * 1e3,
            // An application without yamux that has counted none may never do so.
            bytes: (bytes > 0).then_some(bytes),
            central_cpu_ns: all_ns.zip(own_ns).map(|(all, own)| all.saturating_sub(own)),
            observers_cpu_ns: own_ns,
            runtime_busy_ns: busy.map(|busy| busy.as_nanos() as u64).sum(),
            runtime_parks: workers()
                .map(|worker| metrics.worker_park_count(worker))
                .sum(),
            ..SliceRow::default()
        }
    }
}

fn cpu_ns(clock: ClockId) -> Option<u64> {
    Some(ns(clock_gettime(clock).ok()?.into()))
}
