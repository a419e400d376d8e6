//! The measuring loop. It takes turns with what is compared, in blocks of random order, and cuts one slice out
//! of each turn. A [`Source`] decides what a turn is and what is seen in it: polls of variants, transactions
//! of two paths, or the rows of a soak.

mod path_slices;
mod polls;
mod sample;
mod soak_rows;
mod source;
pub(crate) mod transactions;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use run_format::{
    config::{Measurement, Plan},
    protocol::{CentralTask, Measured},
    run_row::Stop,
};

use self::{
    path_slices::PathSlices,
    polls::Polls,
    sample::Sampler,
    soak_rows::SoakRows,
    source::{FinishedSlice, Source},
    transactions::Transactions,
};
use crate::{connected::Connected, parent::Parent};

/// Measures what the task asks for. `BesideTcp` has its own entry, since it observes something else.
pub(crate) fn measure(
    task: &CentralTask,
    connected: Connected,
    parent: &Parent,
) -> Result<Measured> {
    let sampler = Sampler::of_polls(&connected, &task.others)?;
    match &task.config.measurement {
        Measurement::Compare | Measurement::Explain(_) => {
            let source = Polls::new(task, connected)?;
            let (source, measured) = run(task, source, sampler, parent)?;
            source.finish()?;
            Ok(measured)
        }
        Measurement::Soak(plan) => {
            let source = SoakRows::new(task, *plan, connected);
            Ok(run(task, source, sampler, parent)?.1)
        }
        Measurement::BesideTcp => bail!("this measurement needs transactions, not polls"),
    }
}

/// Measures transactions over libp2p in turns with those over raw TCP.
pub fn measure_beside_tcp(
    task: &CentralTask,
    transactions: Transactions,
    parent: &Parent,
) -> Result<Measured> {
    let sampler = Sampler::of_transactions(&transactions, &task.others)?;
    let source = PathSlices::new(task, transactions)?;
    let (source, measured) = run(task, source, sampler, parent)?;
    source.finish()?;
    Ok(measured)
}

fn run<S: Source>(
    task: &CentralTask,
    source: S,
    sampler: Sampler,
    parent: &Parent,
) -> Result<(S, Measured)> {
    let config = &task.config;
    let mut measuring = Measuring {
        source,
        sampler,
        plan: config.plan,
        answers: config.node.workload.has_answers(),
        parent,
        stopped: false,
        started: Instant::now(),
        open: None,
        slices: 0,
        planned: Duration::ZERO,
        last_answer: Instant::now(),
    };
    measuring.warm_up()?;
    let (stop, blocks) = measuring.blocks(&mut StdRng::seed_from_u64(config.seed))?;
    measuring.settle(None)?;
    let measured = Measured {
        stop,
        blocks,
        planned_ms: u64::try_from(measuring.planned.as_millis()).unwrap_or(u64::MAX),
    };
    Ok((measuring.source, measured))
}

struct Measuring<'a, S: Source> {
    source: S,
    sampler: Sampler,
    plan: Plan,
    /// Whether every peer is to answer all the time, so that silence is an error.
    answers: bool,
    parent: &'a Parent,
    stopped: bool,
    started: Instant,
    /// The last slice, over but still waiting for polls that it began.
    open: Option<FinishedSlice<S>>,
    slices: u32,
    planned: Duration,
    last_answer: Instant,
}

impl<S: Source> Measuring<'_, S> {
    /// Lasts as long as planned, and until every peer has answered: large requests over long links take seconds
    /// to get going.
    fn warm_up(&mut self) -> Result<()> {
        const PATIENCE: Duration = Duration::from_secs(60);
        const LOOK: Duration = Duration::from_millis(20);
        let turns = self.source.warm_up();
        let time = Duration::from_millis(self.plan.warm_up_ms)
            / u32::try_from(turns.len().max(1)).unwrap_or(u32::MAX);
        for turn in turns {
            self.source.switch(Some(turn))?;
            let began = Instant::now();
            let mut seen = self.source.open(turn);
            self.planned += time;
            self.sleep_until(began + time, Some(&mut seen));
            while self.answers && !self.is_stopped() {
                let answers = S::answers(&seen);
                let Some(silent) = answers.iter().position(|answers| *answers == 0) else {
                    break;
                };
                if began.elapsed() > PATIENCE {
                    let seconds = PATIENCE.as_secs();
                    bail!("peer {} answered nothing within {seconds} s", silent + 1);
                }
                self.sleep_until(Instant::now() + LOOK, Some(&mut seen));
            }
        }
        self.started = Instant::now();
        self.last_answer = Instant::now();
        Ok(())
    }

    /// Blocks until it is enough. Returns why it is, and how many there were.
    fn blocks(&mut self, rng: &mut StdRng) -> Result<(Stop, u32)> {
        let mut blocks = 0;
        loop {
            let mut turns = self.source.block(blocks + 1);
            turns.shuffle(rng);
            for turn in turns {
                if self.is_stopped() || !self.slice(blocks + 1, turn)? {
                    return Ok((Stop::Interrupted, blocks));
                }
            }
            blocks += 1;
            if let Some(message) = self.source.report(blocks) {
                self.parent.report(&message);
            }
            if let Some(stop) = self.source.is_enough(blocks) {
                return Ok((stop, blocks));
            }
            if !self.source.has_time_limit() {
                continue;
            }
            let next = self.plan.pass(self.source.block(blocks + 1).len());
            let end = self
                .source
                .fixed_end(self.started, blocks + 1)
                .unwrap_or_else(|| Instant::now() + next);
            if end > self.started + Duration::from_millis(self.plan.max_ms) {
                return Ok((Stop::Cap, blocks));
            }
        }
    }

    /// Returns whether it got through.
    fn slice(&mut self, block: u32, turn: S::Turn) -> Result<bool> {
        self.settle(Some(turn))?;
        let before = self.sampler.sample();
        let mut seen = self.source.open(turn);
        let time = Duration::from_millis(self.plan.slice_ms);
        let end = self.source.fixed_end(self.started, block);
        self.planned += time;
        if !self.sleep_until(
            end.unwrap_or_else(|| Instant::now() + time),
            Some(&mut seen),
        ) {
            return Ok(false);
        }
        self.source.close(turn, &mut seen);
        let used = self.sampler.sample().since(&before);
        self.refuse_silence(&seen)?;
        self.slices += 1;
        self.open = Some(FinishedSlice {
            number: self.slices,
            block,
            turn,
            seen,
            used,
        });
        Ok(true)
    }

    /// Waits until the work of the turn before is over. In the first half, the slice before collects its last
    /// polls. Then it is written; what that leaves in caches is gone after the second half.
    fn settle(&mut self, next: Option<S::Turn>) -> Result<()> {
        const QUIET: Duration = Duration::from_millis(10);
        let settling = Duration::from_millis(self.plan.settle_ms);
        self.planned += settling;
        self.source.switch(next)?;
        let began = Instant::now();
        let mut last = self.open.take();
        let half = (began + settling / 2).max(began + QUIET / 2);
        self.sleep_until(half, last.as_mut().map(|open| &mut open.seen));
        if let Some(open) = last
            && let Some(message) = self.source.keep(open)?
        {
            self.parent.report(&message);
        }
        if let Some(next) = next {
            self.source.prepare(next);
        }
        self.sleep_until((began + settling).max(Instant::now() + QUIET), None);
        Ok(())
    }

    /// Slices in which nothing happens measure nothing.
    fn refuse_silence(&mut self, seen: &S::Seen) -> Result<()> {
        if S::answers(seen).iter().any(|answers| *answers > 0) {
            self.last_answer = Instant::now();
        }
        let silence = self.last_answer.elapsed();
        let slice = Duration::from_millis(self.plan.slice_ms);
        if self.answers && silence > S::PATIENCE.max(4 * slice) {
            let seconds = silence.as_secs_f64();
            bail!("no peer has answered anything for {seconds:.0} s");
        }
        Ok(())
    }

    /// Empties the buffers before they are full. Returns whether it slept to the end.
    fn sleep_until(&mut self, end: Instant, mut seen: Option<&mut S::Seen>) -> bool {
        const BUFFERS_LAST: Duration = Duration::from_millis(50);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(BUFFERS_LAST));
            self.source.collect(seen.as_deref_mut());
            if self.source.stops_within_slices() && self.is_stopped() {
                return false;
            }
            if Instant::now() >= end {
                return true;
            }
        }
    }

    fn is_stopped(&mut self) -> bool {
        self.stopped |= self.parent.asks_to_stop();
        self.stopped
    }
}
