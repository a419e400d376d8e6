//! Empties the buffers, and looks whether all is well meanwhile.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fs, io};

use poll_probe::{Mode, Variant, VariantId};
use rand::RngExt;
use run_format::Budgets;
use run_format::application::Ended;
use slices::cotenant::Bell;
use slices::observers::Observers;
use slices::slice::ObservedSlice;

use crate::guard::Guard;
use crate::length::PIECE;
use crate::live::Feed;
use crate::sample::Sampler;

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
    /// Records and entries that were lost in turns.
    pub(crate) lost: u64,
}

impl Recording {
    pub(crate) fn now_ns(&self) -> u64 {
        self.observers.recorder.now_ns()
    }

    /// Puts budgets in force, with recording.
    pub(crate) fn install(&self, budgets: Budgets) -> VariantId {
        let mode = Mode::Minimal;
        let budgets = budgets.into();
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
            if self
                .observers
                .cotenants
                .iter()
                .any(|(_, log)| log.is_abandoned())
            {
                return Err(Ended::Failed {
                    reason: "the runtime in which it was started has ended".to_owned(),
                });
            }
            self.guard.check_application()?;
            if let Some(slice) = slices.last().filter(|_| is_turn) {
                self.guard.check_timers(slice)?;
            }
            if Instant::now() >= end {
                return Ok(());
            }
        }
    }
}
