//! The measuring loop. It takes turns with what is compared, in blocks of random order. The turns of one thing in
//! a block are summed up, and are its slice. A [`Source`] decides what a turn is and what is seen in it: variants, or the
//! rows of a soak.

mod block;
mod idle;
mod order;
mod polls;
mod sample;
mod soak_rows;
mod source;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rand::{SeedableRng, rngs::StdRng};
use run_format::{
    config::{Measurement, Plan},
    protocol::{CentralTask, Measured},
    run_row::Stop,
};
use tokio::sync::oneshot;

use self::{
    block::{Blocks, FinishedBlock, Interruptions},
    order::order,
    polls::VariantSlices,
    sample::{Clocks, Sampler},
    soak_rows::SoakRows,
    source::{FinishedSlice, Source},
};
use crate::{
    connected::Connected,
    observe::{fixed_work::FixedWork, sums::Sums},
    parent::Parent,
};

/// Measures what the task asks for. Central gets no work before `begin`.
pub(crate) fn measure(
    task: &CentralTask,
    mut connected: Connected,
    parent: &Parent,
    begin: oneshot::Sender<()>,
) -> Result<Measured> {
    if task.config.measurement == Measurement::Compare {
        idle::observe(task, &mut connected)?;
    }
    // Nobody waits any more if central has failed.
    let _ = begin.send(());
    let work = FixedWork::new(connected.runtime.clone());
    let sampler = Sampler::new(&connected, task)?;
    match &task.config.measurement {
        Measurement::Compare | Measurement::Explain(_) | Measurement::BesideTcp => {
            let source = VariantSlices::new(task, connected)?;
            let (source, mut measured) = run(task, source, sampler, work, parent)?;
            measured.messages = source.finish()?;
            Ok(measured)
        }
        Measurement::Soak(plan) => {
            let source = SoakRows::new(task, *plan, connected);
            Ok(run(task, source, sampler, work, parent)?.1)
        }
    }
}

fn run<S: Source>(
    task: &CentralTask,
    source: S,
    sampler: Sampler,
    work: FixedWork,
    parent: &Parent,
) -> Result<(S, Measured)> {
    let config = &task.config;
    let mut measuring = Measuring {
        source,
        sampler,
        work,
        plan: config.plan,
        kept: Blocks::create(task)?,
        answers: config.node.workload.has_answers(),
        parent,
        stopped: false,
        started: Instant::now(),
        last: None,
        open: Vec::new(),
        slices: 0,
        planned: Duration::ZERO,
        last_answer: Instant::now(),
        interruptions: Interruptions::none(),
    };
    measuring.warm_up()?;
    let (stop, blocks) = measuring.blocks(&mut StdRng::seed_from_u64(config.seed))?;
    if let Some(last) = measuring.settle(None)? {
        measuring.finish(last)?;
    }
    measuring.kept.finish()?;
    let measured = Measured {
        stop,
        blocks,
        planned_ms: u64::try_from(measuring.planned.as_millis()).unwrap_or(u64::MAX),
        messages: Vec::new(),
    };
    Ok((measuring.source, measured))
}

struct Measuring<'a, S: Source> {
    source: S,
    sampler: Sampler,
    work: FixedWork,
    plan: Plan,
    kept: Blocks,
    /// Whether every peer is to answer all the time, so that silence is an error.
    answers: bool,
    parent: &'a Parent,
    stopped: bool,
    started: Instant,
    /// Whose turn it was last, still waiting for polls that began in it.
    last: Option<OpenSlice<S>>,
    /// The other slices of the block with turns to come.
    open: Vec<Option<OpenSlice<S>>>,
    slices: u32,
    planned: Duration,
    last_answer: Instant,
    /// Of this block.
    interruptions: Interruptions,
}

/// A slice that may have turns to come.
struct OpenSlice<S: Source> {
    /// Among the slices of its block.
    index: usize,
    block: u32,
    turn: S::Turn,
    turns_left: u32,
    /// None before the first turn.
    seen: Option<S::Seen>,
    used: Clocks,
}

impl<S: Source> OpenSlice<S> {
    fn new(index: usize, block: u32, turn: S::Turn, turns: u32) -> OpenSlice<S> {
        OpenSlice {
            index,
            block,
            turn,
            turns_left: turns,
            seen: None,
            used: Clocks::nothing(),
        }
    }
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
            self.sleep_until(began + time, &mut [&mut seen]);
            while self.answers && !self.is_stopped() {
                let answers = S::answers(&seen);
                let Some(silent) = answers.iter().position(|answers| *answers == 0) else {
                    break;
                };
                if began.elapsed() > PATIENCE {
                    let seconds = PATIENCE.as_secs();
                    bail!("peer {} answered nothing within {seconds} s", silent + 1);
                }
                self.sleep_until(Instant::now() + LOOK, &mut [&mut seen]);
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
            if !self.block(blocks + 1, rng)? {
                return Ok((Stop::Interrupted, blocks));
            }
            blocks += 1;
            if let Some(message) = self.source.report(blocks) {
                self.parent.report(&message);
            }
            if let Some(stop) = self.source.is_enough(blocks) {
                return Ok((stop, blocks));
            }
            if !self.source.has_time_limit(blocks) {
                continue;
            }
            let end = self
                .source
                .fixed_end(self.started, blocks + 1)
                .unwrap_or_else(|| Instant::now() + self.expected(blocks + 1));
            if end > self.started + self.time_limit() {
                return Ok((Stop::Cap, blocks));
            }
        }
    }

    /// Disturbed blocks are measured again, in a quarter of the planned time at most.
    fn time_limit(&self) -> Duration {
        let planned = Duration::from_millis(self.plan.max_ms);
        planned + self.kept.disturbed.min(planned / 4)
    }

    /// How long a block is going to take.
    fn expected(&self, block: u32) -> Duration {
        let slices = self.source.block(block);
        let turns: u32 = slices.iter().map(|turn| self.source.turns(*turn)).sum();
        Duration::from_millis(self.plan.settle_ms + self.plan.turn_ms) * turns
    }

    /// Returns whether it got through.
    fn block(&mut self, number: u32, rng: &mut StdRng) -> Result<bool> {
        let planned = self.source.block(number);
        let turns: Vec<u32> = planned.iter().map(|it| self.source.turns(*it)).collect();
        let slices = planned.iter().zip(&turns).enumerate();
        self.open = slices
            .map(|(index, (turn, turns))| Some(OpenSlice::new(index, number, *turn, *turns)))
            .collect();
        let work = self.work.time()?;
        let before = (self.sampler.clocks(), self.sampler.machine());
        self.interruptions = Interruptions::none();
        for index in order(&turns, rng) {
            if self.is_stopped() {
                return Ok(false);
            }
            let previous = self.settle(Some(planned[index]))?;
            let is_same = |it: &OpenSlice<S>| (it.block, it.index) == (number, index);
            let (slice, previous) = match previous {
                Some(same) if is_same(&same) => (Some(same), None),
                other => (self.open[index].take(), other),
            };
            if let Some(slice) = slice
                && !self.turn(slice, previous)?
            {
                return Ok(false);
            }
        }
        self.interruptions.is_awake(Duration::ZERO);
        let is_disturbed = self.kept.keep(&FinishedBlock {
            number,
            used: self.sampler.clocks().since(before.0),
            machine: self.sampler.machine().since(before.1),
            work,
            interruptions: self.interruptions,
        })?;
        self.source.end_block(is_disturbed);
        Ok(true)
    }

    /// Meanwhile the slice of the turn before still gets polls that began in it. Returns whether it got through.
    fn turn(
        &mut self,
        mut slice: OpenSlice<S>,
        mut previous: Option<OpenSlice<S>>,
    ) -> Result<bool> {
        let before = self.sampler.clocks();
        let (mut seen, answers_before) = match slice.seen.take() {
            Some(mut seen) => {
                self.source.reopen(&mut seen);
                let answers = S::answers(&seen);
                (seen, answers)
            }
            None => (self.source.open(slice.turn), Vec::new()),
        };
        let time = Duration::from_millis(self.plan.turn_ms);
        let end = self.source.fixed_end(self.started, slice.block);
        self.planned += time;
        let late = previous.as_mut().and_then(|it| it.seen.as_mut());
        let mut both: Vec<&mut S::Seen> = late.into_iter().chain([&mut seen]).collect();
        if !self.sleep_until(end.unwrap_or_else(|| Instant::now() + time), &mut both) {
            return Ok(false);
        }
        self.source.close(slice.turn, &mut seen);
        slice.used = slice.used.plus(self.sampler.clocks().since(before));
        self.refuse_silence(&answers_before, &S::answers(&seen))?;
        slice.turns_left -= 1;
        if slice.turns_left == 0 {
            self.source.is_over(slice.turn, &seen, &slice.used);
        }
        slice.seen = Some(seen);
        self.last = Some(slice);
        previous.map_or(Ok(()), |previous| self.finish(previous))?;
        Ok(true)
    }

    /// Waits until the work of the turn before is over. Returns its slice, if that still waits for polls. Else the slice
    /// collects its last polls in the first half and is written, and what that leaves in caches is gone after the second
    /// half.
    fn settle(&mut self, next: Option<S::Turn>) -> Result<Option<OpenSlice<S>>> {
        const LEAST: Duration = Duration::from_millis(10);
        let settling = Duration::from_millis(self.plan.settle_ms);
        self.planned += settling;
        self.source.switch(next)?;
        let began = Instant::now();
        let mut last = self.last.take();
        let waits = self.source.waits_for_late_polls();
        let first = if waits {
            settling
        } else {
            settling.max(LEAST) / 2
        };
        let seen = last.as_mut().and_then(|slice| slice.seen.as_mut());
        self.sleep_until(began + first, &mut seen.into_iter().collect::<Vec<_>>());
        if !waits {
            last.take().map_or(Ok(()), |last| self.finish(last))?;
            if let Some(next) = next {
                self.source.prepare(next);
            }
            self.sleep_until((began + settling).max(Instant::now() + LEAST), &mut []);
        }
        Ok(last)
    }

    /// Puts a slice back that has turns left, or writes it.
    fn finish(&mut self, slice: OpenSlice<S>) -> Result<()> {
        if slice.turns_left == 0 {
            return self.keep(slice);
        }
        let place = slice.index;
        self.open[place] = Some(slice);
        Ok(())
    }

    fn keep(&mut self, slice: OpenSlice<S>) -> Result<()> {
        let Some(seen) = slice.seen else {
            return Ok(());
        };
        self.slices += 1;
        let slice = FinishedSlice {
            number: self.slices,
            block: slice.block,
            turn: slice.turn,
            seen,
            used: slice.used,
        };
        if let Some(message) = self.source.keep(slice)? {
            self.parent.report(&message);
        }
        Ok(())
    }

    /// Turns in which nothing happens measure nothing.
    fn refuse_silence(&mut self, before: &[u64], after: &[u64]) -> Result<()> {
        if after.iter().sum::<u64>() > before.iter().sum() {
            self.last_answer = Instant::now();
        }
        let silence = self.last_answer.elapsed();
        let turn = Duration::from_millis(self.plan.settle_ms + self.plan.turn_ms);
        if self.answers && silence > S::PATIENCE.max(4 * turn) {
            let seconds = silence.as_secs_f64();
            bail!("no peer has answered anything for {seconds:.0} s");
        }
        Ok(())
    }

    /// Empties the buffers before they are full. Returns whether it slept to the end.
    fn sleep_until(&mut self, end: Instant, seen: &mut [&mut S::Seen]) -> bool {
        const BUFFERS_LAST: Duration = Duration::from_millis(50);
        loop {
            let planned = end.saturating_duration_since(Instant::now());
            let planned = planned.min(BUFFERS_LAST);
            std::thread::sleep(planned);
            self.source.collect(seen);
            self.interruptions.is_awake(planned);
            let stops = &mut self.interruptions.stops;
            let found = self.sampler.finds_stopped();
            *stops = found.map(|found| stops.unwrap_or(0) + u64::from(found));
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
