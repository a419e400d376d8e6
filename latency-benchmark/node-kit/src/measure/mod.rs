//! The measuring loop. It gives the variants turns, in blocks of random order. The turns of one variant in a block are summed
//! up to a slice. [`VariantSlices`] says which slices a block has, and collects what is seen in them.

mod block;
mod changes;
mod clock;
mod process_schedule;
mod purpose;
mod sample;
mod variant_slices;

use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use node_ab::slices::{ObservedSlice, Sums, ms, order};
use rand::SeedableRng;
use rand::rngs::StdRng;
use run_format::plan::block::PlannedSlice;
use run_format::{Measured, Measurement, Plan, Stop};
use tokio::sync::oneshot;

use self::block::{BlockWriter, Interruptions, observe_idle};
use self::clock::{Clock, SystemClock};
use self::process_schedule::ProcessSchedule;
use self::sample::{CounterReader, QuickCounts};
use self::variant_slices::{OpenSlice, VariantSlices};
use crate::observe::fixed_work::FixedWork;
use crate::observed_central::ObservedCentral;
use crate::process::parent::report;

/// Measures what the task asks for. Central gets no work before `begin`.
pub(crate) fn measure(
    mut central: ObservedCentral,
    lines: Receiver<&'static str>,
    begin: oneshot::Sender<()>,
) -> Result<Measured> {
    let config = &central.task.config;
    let mut schedule = ProcessSchedule::new(lines, config.beside > 0);
    if schedule.has_others_beside() {
        schedule.ask_to_run(0);
    }
    if config.measurement == Measurement::Compare {
        observe_idle(&mut central)?;
    }
    // The receiver is gone if central has failed.
    let _ = begin.send(());
    measure_by(SystemClock, central, schedule)
}

fn measure_by(
    clock: impl Clock,
    central: ObservedCentral,
    schedule: ProcessSchedule,
) -> Result<Measured> {
    let config = &central.task.config;
    let (plan, seed) = (config.plan, config.seed);
    let now = clock.now();
    let mut measuring = Measuring {
        counters: CounterReader::new(&central)?,
        work: FixedWork::new(central.activity.runtime.clone())?,
        plan,
        block_rows: BlockWriter::create(&central.task)?,
        slices: VariantSlices::new(central)?,
        schedule,
        started: now,
        last: None,
        open: BTreeMap::new(),
        written: 0,
        planned: Duration::ZERO,
        last_answer: now,
        interruptions: Interruptions::none(now),
        clock,
    };
    measuring.warm_up()?;
    measuring.let_others_run()?;
    let (stop, blocks) = measuring.measure_blocks(&mut StdRng::seed_from_u64(seed))?;
    if let Some(last) = measuring.settle(None)? {
        measuring.put_back_or_write(last)?;
    }
    measuring.block_rows.tables.finish()?;
    Ok(Measured {
        stop,
        blocks,
        planned_ms: ms(measuring.planned),
        outstanding: measuring.slices.central.shared.outstanding(),
        messages: measuring.slices.finish()?,
    })
}

struct Measuring<C> {
    clock: C,
    slices: VariantSlices,
    counters: CounterReader,
    work: FixedWork,
    plan: Plan,
    block_rows: BlockWriter,
    schedule: ProcessSchedule,
    started: Instant,
    /// The slice of the last turn. It still waits for polls that began in that turn.
    last: Option<OpenSlice>,
    /// The other slices of the block that have begun and have turns left, by their index.
    open: BTreeMap<usize, OpenSlice>,
    /// The number of the last slice that was written.
    written: u32,
    planned: Duration,
    last_answer: Instant,
    interruptions: Interruptions,
}

impl<C: Clock> Measuring<C> {
    /// Warms up for the planned time, and until every peer has answered. Large requests over long links take seconds until
    /// they reach their throughput.
    fn warm_up(&mut self) -> Result<()> {
        const PATIENCE: Duration = Duration::from_secs(60);
        const LOOK: Duration = Duration::from_millis(20);
        let slices = self.slices.warm_up();
        let time = Duration::from_millis(self.plan.warm_up_ms)
            / u32::try_from(slices.len().max(1)).unwrap_or(u32::MAX);
        for planned in slices {
            self.slices.switch(Some(planned))?;
            let began = self.clock.now();
            let mut observed = self.slices.open(planned);
            self.planned += time;
            self.sleep_until(began + time, &mut [&mut observed]);
            while self.slices.has_answers() && !self.schedule.is_stopped() {
                let Some(silent) = observed.requests().position(|answers| answers == 0) else {
                    break;
                };
                if observed.requests().all(|answers| answers == 0) {
                    self.slices.refuse_silence(self.clock.since(began))?;
                }
                if self.clock.since(began) > PATIENCE {
                    let seconds = PATIENCE.as_secs();
                    bail!("peer {} answered nothing within {seconds} s", silent + 1);
                }
                self.sleep_until(self.clock.now() + LOOK, &mut [&mut observed]);
            }
            while self.slices.central.seeks_outstanding() && !self.schedule.is_stopped() {
                if self.clock.since(began) > PATIENCE {
                    let seconds = PATIENCE.as_secs();
                    bail!("throughput still rises after requests were doubled for {seconds} s");
                }
                self.sleep_until(self.clock.now() + LOOK, &mut [&mut observed]);
            }
        }
        self.started = self.clock.now();
        self.last_answer = self.clock.now();
        Ok(())
    }

    /// Measures blocks until there are enough. Returns the reason and the number of blocks.
    fn measure_blocks(&mut self, rng: &mut StdRng) -> Result<(Stop, u32)> {
        let mut blocks = 0;
        loop {
            if !self.measure_block(blocks + 1, rng)? {
                return Ok((Stop::Interrupted, blocks));
            }
            blocks += 1;
            if let Some(message) = self.slices.report(blocks) {
                report(&message);
            }
            if self.slices.is_enough(blocks) {
                return Ok((Stop::Precise, blocks));
            }
            let next = self.slices.slices_of_block(blocks + 1);
            let turns: u32 = next
                .iter()
                .map(|slice| self.slices.turns_in_slice(*slice))
                .sum();
            let end = match self.end_of_row(blocks + 1) {
                Some(end) => end,
                None => self.clock.now() + self.plan.turn() * turns,
            };
            // Disturbed blocks are measured again, in a quarter of the planned time at most.
            let planned = Duration::from_millis(self.plan.max_ms);
            let limit = self.started + planned + self.block_rows.disturbed.min(planned / 4);
            if self.slices.purpose.has_time_limit(blocks) && end > limit {
                return Ok((Stop::Cap, blocks));
            }
        }
    }

    fn end_of_row(&self, block: u32) -> Option<Instant> {
        let length = self.slices.soak_row_length?;
        Some(self.started + length * block)
    }

    /// Measures a block. Returns false if it is to stop instead.
    fn measure_block(&mut self, number: u32, rng: &mut StdRng) -> Result<bool> {
        let planned = self.slices.slices_of_block(number);
        let turns: Vec<u32> = planned
            .iter()
            .map(|slice| self.slices.turns_in_slice(*slice))
            .collect();
        if !self.wait_to_run(number) {
            return Ok(false);
        }
        let work = self.work.time()?;
        let machine_before = self.counters.machine();
        self.interruptions = Interruptions::none(self.clock.now());
        for index in order(&turns, rng) {
            if self.schedule.is_stopped() || !self.wait_to_run(number) {
                return Ok(false);
            }
            let previous = self.settle(Some(planned[index]))?;
            let is_same = |slice: &OpenSlice| (slice.block, slice.index) == (number, index);
            let (begun, previous) = match previous {
                Some(same) if is_same(&same) => (Some(same), None),
                other => (self.open.remove(&index), other),
            };
            let before = self.counters.quick_counts();
            let slice = match begun {
                Some(mut slice) => {
                    self.slices.begin_turn(&mut slice.observed);
                    slice
                }
                None => OpenSlice {
                    block: number,
                    index,
                    planned: planned[index],
                    turns_left: turns[index],
                    observed: self.slices.open(planned[index]),
                    // Zero in every column that this machine has. An absent column stays absent.
                    used: before.clone().since(before.clone()),
                },
            };
            if !self.turn(slice, before, previous)? {
                return Ok(false);
            }
            self.let_others_run()?;
        }
        self.interruptions
            .note_awake(self.clock.now(), Duration::ZERO);
        let machine = self.counters.machine().since(machine_before);
        let is_disturbed = self
            .block_rows
            .write(number, machine, work, &self.interruptions)?;
        self.slices.end_block(is_disturbed);
        Ok(true)
    }

    /// Waits until the process may run. Returns false if it is to stop.
    fn wait_to_run(&mut self, block: u32) -> bool {
        if self.schedule.may_run() {
            return true;
        }
        let (paused, paused_ns) = (self.clock.now(), self.slices.now_ns());
        self.schedule.ask_to_run(block);
        // The turns of other programs do not count as time of this one.
        self.started += self.clock.since(paused);
        self.last_answer += self.clock.since(paused);
        self.interruptions.awake = self.clock.now();
        self.slices.paused_ns = paused_ns..self.slices.now_ns();
        self.schedule.may_run()
    }

    /// Waits for the last polls of the turn, and lets other programs run.
    fn let_others_run(&mut self) -> Result<()> {
        /// Hardly any poll is longer. A poll that is still under way when the process is paused is left out.
        const LAST_POLLS: Duration = Duration::from_millis(5);
        if !self.schedule.has_others_beside() {
            return Ok(());
        }
        self.schedule.let_others_run();
        if let Some(mut last) = self.last.take() {
            self.planned += LAST_POLLS;
            self.sleep_until(self.clock.now() + LAST_POLLS, &mut [&mut last.observed]);
            last.observed.ignore_late_polls();
            self.put_back_or_write(last)?;
        }
        Ok(())
    }

    /// Measures a turn. Meanwhile the slice of the turn before, `previous`, still gets polls that began in it. Returns false
    /// if it is to stop instead.
    fn turn(
        &mut self,
        mut slice: OpenSlice,
        before: QuickCounts,
        mut previous: Option<OpenSlice>,
    ) -> Result<bool> {
        let answers_before: u64 = slice.observed.requests().sum();
        let time = Duration::from_millis(self.plan.turn_ms);
        let end = self.end_of_row(slice.block);
        self.planned += time;
        let late = previous.as_mut().map(|slice| &mut slice.observed);
        let mut both: Vec<&mut ObservedSlice> =
            late.into_iter().chain([&mut slice.observed]).collect();
        if !self.sleep_until(end.unwrap_or_else(|| self.clock.now() + time), &mut both) {
            return Ok(false);
        }
        self.slices.end_turn(slice.planned, &mut slice.observed);
        slice.used = slice.used.plus(self.counters.quick_counts().since(before));
        if slice.observed.requests().sum::<u64>() > answers_before {
            self.last_answer = self.clock.now();
        }
        if self.slices.has_answers() {
            self.slices
                .refuse_silence(self.clock.since(self.last_answer))?;
        }
        slice.turns_left -= 1;
        if slice.turns_left == 0 {
            self.slices.add_to_changes(&slice);
        }
        self.last = Some(slice);
        previous.map_or(Ok(()), |previous| self.put_back_or_write(previous))?;
        Ok(true)
    }

    /// Puts the variant of the next turn in force, and waits until the work of the turn before is over. Returns the slice of
    /// that turn if it still collects polls.
    fn settle(&mut self, next: Option<PlannedSlice>) -> Result<Option<OpenSlice>> {
        let settling = Duration::from_millis(self.plan.settle_ms);
        self.planned += settling;
        self.slices.switch(next)?;
        if self.slices.purpose.waits_for_late_polls() {
            return Ok(self.settle_collecting(settling));
        }
        self.settle_then_write(settling, next)?;
        Ok(None)
    }

    /// The slice of the turn before collects polls all the time, and is returned. The first turn of all has none before it.
    fn settle_collecting(&mut self, settling: Duration) -> Option<OpenSlice> {
        let end = self.clock.now() + settling;
        let mut last = self.last.take();
        let observed = last.as_mut().map(|slice| &mut slice.observed);
        self.sleep_until(end, &mut Vec::from_iter(observed));
        last
    }

    /// The slice of the turn before collects its last polls in the first half of the time and is written. The second half lets
    /// the caches recover from that.
    fn settle_then_write(&mut self, settling: Duration, next: Option<PlannedSlice>) -> Result<()> {
        const LEAST: Duration = Duration::from_millis(10);
        let began = self.clock.now();
        let mut last = self.last.take();
        let observed = last.as_mut().map(|slice| &mut slice.observed);
        self.sleep_until(
            began + settling.max(LEAST) / 2,
            &mut Vec::from_iter(observed),
        );
        last.map_or(Ok(()), |last| self.put_back_or_write(last))?;
        if let Some(next) = next {
            self.slices.purpose.prepare(next.pass);
        }
        self.sleep_until((began + settling).max(self.clock.now() + LEAST), &mut []);
        Ok(())
    }

    /// Puts a slice back if it has turns left. Otherwise all of its polls are over, and it is written.
    fn put_back_or_write(&mut self, slice: OpenSlice) -> Result<()> {
        if slice.turns_left > 0 {
            self.open.insert(slice.index, slice);
            return Ok(());
        }
        self.written += 1;
        if let Some(row) = self.slices.write_slice(self.written, slice)? {
            report(&row);
        }
        Ok(())
    }

    /// Sleeps, and empties the buffers before they are full. Returns false if a soak was stopped before `end`.
    fn sleep_until(&mut self, end: Instant, observed: &mut [&mut ObservedSlice]) -> bool {
        const BUFFERS_LAST: Duration = Duration::from_millis(50);
        loop {
            let left = end.saturating_duration_since(self.clock.now());
            let planned = left.min(BUFFERS_LAST);
            self.clock.sleep(planned);
            self.slices.collect(observed);
            self.interruptions.note_awake(self.clock.now(), planned);
            let stops = &mut self.interruptions.stops;
            let found = self.counters.finds_stopped();
            *stops = found.map(|found| stops.unwrap_or(0) + u64::from(found));
            if self.slices.soak_row_length.is_some() && self.schedule.is_stopped() {
                return false;
            }
            if self.clock.now() >= end {
                return true;
            }
        }
    }
}

#[cfg(test)]
#[path = "../../tests/measure/mod.rs"]
mod tests;
