//! The slices of variants. [`Purpose`] has what differs between the purposes of a launch.

use std::ops::Range;
use std::time::Duration;

use anyhow::{Result, bail};
use node_ab::slices::{ObservedSlice, Replay, RunWriter};
use poll_probe::{Mode, Variant, VariantId};
use run_format::plan::block::PlannedSlice;
use run_format::plan::sums::SliceSums;
use run_format::{Measurement, Messages, NodeMessage, Pass, RunConfig, Site, SliceRow};

use super::changes::Changes;
use super::purpose::{Purpose, purpose_of_launch};
use super::sample::QuickCounts;
use crate::observed_central::ObservedCentral;

/// Plans the slices, fills them with what is seen, and writes them.
pub(super) struct VariantSlices {
    pub(super) central: ObservedCentral,
    pub(super) purpose: Box<dyn Purpose>,
    /// The empty replay of a new slice.
    replay: Replay,
    installed: VariantId,
    /// The time at which the variant in force was put in force.
    switched_ns: u64,
    /// The last time in which the process was paused, if other programs take turns with it.
    pub(super) paused_ns: Range<u64>,
    /// None in a soak, whose rows are not slices.
    writer: Option<RunWriter>,
    changes: Changes,
    /// The sums of the slices of this block so far.
    block: Vec<(usize, SliceSums)>,
    /// The number of polls that the budgets of each variant ended.
    yields: Vec<Yields>,
    messages: Vec<Messages>,
    /// The length of the rows of a soak. Each row ends at a multiple of it, even if the row before took longer. A row may last
    /// an hour, so a request to stop ends it at once, and it is not reported.
    pub(super) soak_row_length: Option<Duration>,
}

/// The number of complete slices of a variant, and of the polls in them that a budget ended.
#[derive(Clone, Copy, Default)]
struct Yields {
    slices: u32,
    polls: u64,
}

/// A slice that has begun and may have turns left.
pub(super) struct OpenSlice {
    pub(super) block: u32,
    /// The index among the slices of its block.
    pub(super) index: usize,
    pub(super) planned: PlannedSlice,
    pub(super) turns_left: u32,
    pub(super) observed: ObservedSlice,
    /// The use of the machine in all its turns.
    pub(super) used: QuickCounts,
}

impl VariantSlices {
    pub(super) fn new(mut central: ObservedCentral) -> Result<VariantSlices> {
        let config = central.task.config.clone();
        let purpose = purpose_of_launch(&mut central)?;
        let (writer, soak_row_length) = match config.measurement {
            Measurement::Soak(plan) => (None, Some(Duration::from_millis(plan.interval_ms))),
            Measurement::Compare | Measurement::Explain(_) | Measurement::Libp2pAndRawTcp => {
                (Some(central.writer()?), None)
            }
        };
        let variants = config.variants.len();
        Ok(VariantSlices {
            replay: Replay::new(config.variants.iter().map(|variant| variant.budgets)),
            installed: Variant::default().install(),
            switched_ns: 0,
            paused_ns: 0..0,
            writer,
            changes: Changes::new(variants),
            block: Vec::new(),
            yields: vec![Yields::default(); variants],
            messages: vec![Messages::default(); variants],
            soak_row_length,
            central,
            purpose,
        })
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.central.observers.recorder.now_ns()
    }

    fn config(&self) -> &RunConfig {
        &self.central.task.config
    }

    /// Whether every peer has to answer all the time, so that silence is an error.
    pub(super) fn has_answers(&self) -> bool {
        self.config().node.workload.has_answers()
    }

    /// Refuses to go on if peers are silent for too long, because such turns measure nothing. Long turns allow more.
    pub(super) fn refuse_silence(&self, silence: Duration) -> Result<()> {
        let config = self.config();
        // In a soak, peers may be restarted.
        let patience = Duration::from_secs(self.soak_row_length.map_or(10, |_| 120));
        // Over long links the first answers need several round trips.
        let begin = patience + 20 * config.cell.rtt_ms.duration();
        if silence > begin.max(4 * config.plan.turn()) {
            let seconds = silence.as_secs_f64();
            bail!("no peer has answered anything for {seconds:.0} s");
        }
        Ok(())
    }

    /// The slices for warming up. A soak has none, because it measures the start, too.
    pub(super) fn warm_up(&self) -> Vec<PlannedSlice> {
        let variants = self.config().variants.iter().enumerate();
        variants
            .filter(|(variant, config)| self.purpose.warms_up(*variant, config.role))
            .map(|(variant, _)| PlannedSlice::new(Pass::Compare, variant))
            .collect()
    }

    pub(super) fn slices_of_block(&self, block: u32) -> Vec<PlannedSlice> {
        self.purpose
            .slices_of_block(block, self.config().variants.len())
    }

    pub(super) fn turns_in_slice(&self, slice: PlannedSlice) -> u32 {
        match self.purpose.has_one_turn() || self.never_yielded(slice.variant) {
            true => 1,
            false => self.config().plan.turns,
        }
    }

    /// Whether the variant has budgets that have never ended a poll, and so changed nothing. It then has only one turn in a
    /// slice, which shows whether that remains so.
    fn never_yielded(&self, variant: usize) -> bool {
        const ENOUGH: u32 = 2;
        let yields = self.yields[variant];
        let budgets = self.config().variants[variant].budgets;
        budgets.has_only_bounds() && yields.slices >= ENOUGH && yields.polls == 0
    }

    /// Ends the turn before and begins a turn of `slice`. After the last turn, `slice` is None.
    pub(super) fn switch(&mut self, slice: Option<PlannedSlice>) -> Result<()> {
        self.purpose.switch(slice)?;
        if let Some(PlannedSlice { pass, variant }) = slice {
            if let Some(page) = self.central.page {
                page.switch(variant)?;
            }
            let in_force = Variant {
                budgets: self.config().variants[variant].budgets.in_central(),
                mode: mode(pass),
            };
            self.installed = in_force.install();
            self.central.shared.set_variant(variant);
            self.switched_ns = self.now_ns();
        }
        Ok(())
    }

    pub(super) fn open(&mut self, slice: PlannedSlice) -> ObservedSlice {
        let keeps_polls = self.purpose.begin(slice.pass);
        let peers = self.config().cell.peers;
        let mut observed =
            ObservedSlice::open(self.installed, self.now_ns(), self.switched_ns, peers);
        observed.paused_ns = self.paused_ns.clone();
        let sites = self.central.sites.iter().map(|named| named.site);
        observed.connection_site = Site::of_connections(sites);
        observed.replay = (slice.pass == Pass::Children).then(|| self.replay.clone());
        observed.with_children = keeps_polls.then(Default::default);
        observed
    }

    /// Begins another turn of a slice.
    pub(super) fn begin_turn(&mut self, observed: &mut ObservedSlice) {
        observed.paused_ns = self.paused_ns.clone();
        observed.begin_turn(self.switched_ns, self.now_ns());
    }

    /// Empties the buffers into the slices. Each entry goes to the slice to which it belongs.
    pub(super) fn collect(&mut self, into: &mut [&mut ObservedSlice]) {
        self.central.observers.collect(into);
        self.purpose.collect();
    }

    /// Ends a turn. Polls that began in it may still be collected.
    pub(super) fn end_turn(&mut self, slice: PlannedSlice, observed: &mut ObservedSlice) {
        observed.end_turn(self.now_ns());
        self.purpose.end_turn(slice.pass);
    }

    /// Adds the sums of a slice as soon as its last turn is over. The few polls that are not over yet do not matter for when
    /// to stop.
    pub(super) fn add_to_changes(&mut self, slice: &OpenSlice) {
        let (PlannedSlice { pass, variant }, observed) = (slice.planned, &slice.observed);
        let is_compared = matches!(pass, Pass::Compare | Pass::Normal);
        // A soak compares nothing.
        if is_compared && self.soak_row_length.is_none() {
            let sums = SliceSums {
                beyond_ns: observed.site(observed.connection_site).sums().beyond_ns,
                requests: observed.requests().sum(),
                seconds: observed.duration_ns as f64 / 1e9,
                cpu_ns: slice.used.row.central_cpu_ns,
            };
            self.block.push((variant, sums));
            let yields = &mut self.yields[variant];
            yields.slices += 1;
            yields.polls += observed.yielded() + slice.used.row.peers_yielded.unwrap_or(0);
        }
    }

    /// Writes a slice whose polls are all over. In a soak, it returns a row to report instead.
    pub(super) fn write_slice(
        &mut self,
        number: u32,
        slice: OpenSlice,
    ) -> Result<Option<NodeMessage>> {
        if let Some(row) = self.purpose.soak_row(&slice.observed, &slice.used) {
            return Ok(Some(NodeMessage::Row(Box::new(row))));
        }
        let row = slice_row(number, &slice);
        let OpenSlice {
            mut observed, used, ..
        } = slice;
        if row.pass == Pass::Compare {
            let messages = &mut self.messages[row.variant];
            messages.expected += observed.expected;
            messages.delivered += row.requests.unwrap_or(0);
        }
        self.purpose.write_slice(&row, &mut observed)?;
        if let Some(writer) = &mut self.writer {
            writer.write(&row, &observed, &used.workers, used.quic_row(number))?;
        }
        Ok(None)
    }

    /// Ends a block, which the machine may have disturbed.
    pub(super) fn end_block(&mut self, is_disturbed: bool) {
        for (variant, slice) in self.block.drain(..).filter(|_| !is_disturbed) {
            self.changes.add(variant, slice);
        }
    }

    pub(super) fn report(&self, block: u32) -> Option<NodeMessage> {
        let report = self
            .purpose
            .report(self.changes.report(block), &self.changes);
        report.map(NodeMessage::Block)
    }

    /// Whether the changes are known well enough after this number of blocks.
    pub(super) fn is_enough(&self, blocks: u32) -> bool {
        let (precision, answers) = (self.config().plan.precision, self.has_answers());
        let never_yielded = |variant| self.never_yielded(variant);
        let is_precise = || self.changes.are_within(precision, answers, never_yielded);
        self.purpose.is_enough(blocks, &is_precise)
    }

    /// Writes what is known only at the end of the run, and waits until everything is on disk. Returns the counts of messages.
    pub(super) fn finish(mut self) -> Result<Vec<Messages>> {
        self.purpose.finish()?;
        if let Some(writer) = self.writer {
            writer.finish(self.central.observers.recorder.now_ns())?;
        }
        if self.messages.iter().all(|messages| messages.expected == 0) {
            self.messages.clear();
        }
        Ok(self.messages)
    }
}

/// The mode in which the poll functions record in a slice of a pass.
fn mode(pass: Pass) -> Mode {
    match pass {
        Pass::Compare | Pass::SystemCalls | Pass::Activity | Pass::Normal | Pass::Warm => {
            Mode::Minimal
        }
        Pass::Children | Pass::Stacks | Pass::Timeline => Mode::Children,
        Pass::Allocations | Pass::Counters => Mode::Metered,
    }
}

fn slice_row(number: u32, slice: &OpenSlice) -> SliceRow {
    let observed = &slice.observed;
    SliceRow {
        slice: number,
        pass: slice.planned.pass,
        block: slice.block,
        variant: slice.planned.variant,
        start_ms: observed.start_ns as f64 / 1e6,
        duration_ms: observed.duration_ns as f64 / 1e6,
        turns: observed.turns,
        requests: Some(observed.requests().sum()),
        requests_begun_before: Some(observed.begun_before),
        bytes: Some(observed.bytes),
        lost_entries: observed.lost_entries,
        ..slice.used.row.clone()
    }
}
