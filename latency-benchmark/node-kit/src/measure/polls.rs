//! Slices of variants: all of them take turns, or each kind of evidence has slices of its own, or the slices of one are
//! the rows of a soak.

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use node_ab::slices::{ObservedSlice, Replay, RunWriter};
use poll_probe::{Mode, Variant, VariantId};
use run_format::plan::block::{PlannedSlice, to_compare, to_explain};
use run_format::plan::sums::SliceSums;
use run_format::{
    BASELINE, ExplainPlan, Measurement, Messages, NodeMessage, Pass, Role, RunConfig, Site,
    SliceRow,
};

use super::changes::Changes;
use super::sample::Clocks;
use super::soak_rows::SoakRows;
use crate::connected::Connected;
use crate::evidence::Evidence;
use crate::paths::{TrafficPath, TurnSwitch};

/// What has slices, and what becomes of them.
pub(super) struct VariantSlices {
    pub(super) central: Connected,
    purpose: Purpose,
    /// Without any polls yet.
    replay: Replay,
    installed: VariantId,
    /// When the variant in force was put in force.
    switched_ns: u64,
    /// When the process was last paused, if other programs take turns with it.
    pub(super) paused_ns: Range<u64>,
    /// The rows of a soak are in no table of slices.
    writer: Option<RunWriter>,
    changes: Changes,
    /// The slices of the block so far.
    block: Vec<(usize, SliceSums)>,
    /// Complete slices of each variant, and those of its polls that a budget ended.
    fired: Vec<(u32, u64)>,
    messages: Vec<Messages>,
    /// The length of a soak's rows, which keep step with the clock, whatever those before took. A request to stop ends one
    /// at once, without keeping it: it may last an hour.
    pub(super) rows: Option<Duration>,
}

/// A slice that has begun, and may have turns to come.
pub(super) struct OpenSlice {
    pub(super) block: u32,
    /// Among the slices of its block.
    pub(super) index: usize,
    pub(super) planned: PlannedSlice,
    pub(super) turns_left: u32,
    pub(super) seen: ObservedSlice,
    /// Over all its turns.
    pub(super) used: Clocks,
}

/// What the slices are for. Nothing more is known of a [comparison](Measurement::Compare).
enum Purpose {
    Compare,
    BesideTcp(TurnSwitch),
    Explain(ExplainPlan, Box<Evidence>),
    Soak(Box<SoakRows>),
}

impl VariantSlices {
    pub(super) fn new(mut central: Connected) -> Result<VariantSlices> {
        let config = central.task.config.clone();
        let (watch, turns) = (central.watch.take(), central.turns.take());
        let purpose = match (config.measurement.clone(), watch, turns) {
            (Measurement::Explain(plan), Some(watch), _) => {
                let (activity, sites) = (central.activity.clone(), central.sites.clone());
                let evidence = Evidence::create(watch, activity, sites, &central.task.dir)?;
                Purpose::Explain(plan, Box::new(evidence))
            }
            (Measurement::Soak(_), ..) => Purpose::Soak(Box::new(SoakRows::new(&central))),
            (_, _, Some(turns)) => Purpose::BesideTcp(turns),
            (_, _, None) => Purpose::Compare,
        };
        let (writer, rows) = match config.measurement {
            Measurement::Soak(plan) => (None, Some(Duration::from_millis(plan.interval_ms))),
            _ => (Some(central.writer()?), None),
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
            fired: vec![(0, 0); variants],
            messages: vec![Messages::default(); variants],
            rows,
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

    /// Whether every peer is to answer all the time, so that silence is an error.
    pub(super) fn has_answers(&self) -> bool {
        self.config().node.workload.has_answers()
    }

    /// How long all peers may be silent before that is an error, unless turns are long.
    pub(super) fn patience(&self) -> Duration {
        // In a soak, peers may be restarted, and be away for a while.
        Duration::from_secs(self.rows.map_or(10, |_| 120))
    }

    /// Turns in which nothing happens measure nothing.
    pub(super) fn refuse_silence(&self, last_answer: Instant) -> Result<()> {
        let (silence, config) = (last_answer.elapsed(), self.config());
        // Over long links the first answers need several round trips.
        let begin = self.patience() + 20 * config.cell.rtt_ms.duration();
        if silence > begin.max(4 * config.plan.turn()) {
            let seconds = silence.as_secs_f64();
            bail!("no peer has answered anything for {seconds:.0} s");
        }
        Ok(())
    }

    /// What gets everything going, each until every peer has answered. How things get going is part of a soak.
    pub(super) fn warm_up(&self) -> Vec<PlannedSlice> {
        let variants = self.config().variants.iter().enumerate();
        let first = variants.filter(|(at, variant)| match self.purpose {
            // Every path is to get going.
            Purpose::BesideTcp(_) => variant.role != Role::Control,
            Purpose::Soak(_) => false,
            Purpose::Compare | Purpose::Explain(..) => *at == BASELINE,
        });
        first
            .map(|(at, _)| PlannedSlice::new(Pass::Compare, at))
            .collect()
    }

    pub(super) fn block(&self, block: u32) -> Vec<PlannedSlice> {
        match &self.purpose {
            Purpose::Explain(plan, evidence) if block <= plan.blocks => {
                to_explain(plan, |pass| evidence.watch.is_available(pass))
            }
            Purpose::Explain(plan, evidence) => {
                let variants = plan.variants.iter();
                let lack = variants.filter(|variant| evidence.lacks_stacks(**variant));
                lack.map(|variant| PlannedSlice::new(Pass::Stacks, *variant))
                    .collect()
            }
            Purpose::Compare => to_compare(block, self.config().variants.len()),
            Purpose::BesideTcp(_) | Purpose::Soak(_) => {
                let mut slices = to_compare(block, self.config().variants.len());
                slices.retain(|slice| slice.pass == Pass::Compare);
                slices
            }
        }
    }

    pub(super) fn turns(&self, slice: PlannedSlice) -> u32 {
        match self.purpose {
            Purpose::Explain(..) => 1,
            _ if self.is_idle(slice.variant) => 1,
            _ => self.config().plan.turns,
        }
    }

    /// Whether the variant has budgets that have never ended a poll. It can have changed nothing, so it has one turn
    /// in a slice, by which it is seen if that changes.
    fn is_idle(&self, variant: usize) -> bool {
        const ENOUGH: u32 = 2;
        let (slices, yields) = self.fired[variant];
        let budgets = self.config().variants[variant].budgets;
        let acts_by_firing = !budgets.is_none() && budgets.remedies().next().is_none();
        acts_by_firing && slices >= ENOUGH && yields == 0
    }

    /// Ends the turn before and begins one of `slice`; after the last one there is none.
    pub(super) fn switch(&mut self, slice: Option<PlannedSlice>) -> Result<()> {
        let config = &self.central.task.config;
        if let Purpose::BesideTcp(turns) = &self.purpose {
            let path = |slice: PlannedSlice| match config.variants[slice.variant].role {
                Role::Baseline | Role::Control => TrafficPath::RawTcp,
                Role::Candidate => TrafficPath::Libp2p,
            };
            let turn = Duration::from_millis(config.plan.turn_ms);
            turns.change(slice.map(path), self.patience().max(4 * turn))?;
        }
        if let Some(PlannedSlice { pass, variant }) = slice {
            let budgets = config.variants[variant].budgets.in_central();
            let mode = mode(pass);
            if let Some(page) = self.central.page {
                page.switch(variant)?;
            }
            self.installed = Variant { budgets, mode }.install();
            self.central.findings.switched_to(variant);
            self.switched_ns = self.central.observers.recorder.now_ns();
        }
        Ok(())
    }

    /// What the next slice needs from its start is arranged while the turn settles.
    pub(super) fn prepare(&mut self, slice: PlannedSlice) {
        if let Purpose::Explain(_, evidence) = &mut self.purpose {
            evidence.watch.prepare(slice.pass);
        }
    }

    pub(super) fn open(&mut self, slice: PlannedSlice) -> ObservedSlice {
        let mut whole = None;
        if let Purpose::Explain(_, evidence) = &mut self.purpose {
            evidence.begin(slice.pass);
            whole = Some(Default::default());
        }
        let now_ns = self.central.observers.recorder.now_ns();
        let peers = self.config().cell.peers;
        let mut seen = ObservedSlice::open(self.installed, now_ns, self.switched_ns, peers);
        seen.paused_ns = self.paused_ns.clone();
        let sites = self.central.sites.iter().map(|named| named.site);
        seen.connections = Site::of_connections(sites);
        seen.replay = (slice.pass == Pass::Children).then(|| self.replay.clone());
        seen.whole = whole;
        seen
    }

    pub(super) fn reopen(&mut self, seen: &mut ObservedSlice) {
        seen.paused_ns = self.paused_ns.clone();
        seen.reopen(self.switched_ns, self.now_ns());
    }

    /// Whether a slice gets polls that began in a turn until the next turn is over. Without that, long ones would be
    /// missing more often than short ones. Evidence is told apart by time alone, and rows are reported at once.
    pub(super) fn waits_for_late_polls(&self) -> bool {
        matches!(self.purpose, Purpose::Compare | Purpose::BesideTcp(_))
    }

    /// Empties the buffers into the slices that what is there belongs to.
    pub(super) fn collect(&mut self, into: &mut [&mut ObservedSlice]) {
        self.central.observers.collect(into);
        if let Purpose::Explain(_, evidence) = &mut self.purpose {
            evidence.collect();
        }
    }

    /// Ends a turn. Polls that it began may still be collected.
    pub(super) fn close(&mut self, slice: PlannedSlice, seen: &mut ObservedSlice) {
        seen.close(self.central.observers.recorder.now_ns());
        match &mut self.purpose {
            Purpose::Explain(_, evidence) => evidence.end(slice.pass),
            Purpose::Soak(rows) => rows.close(&self.central.activity),
            Purpose::Compare | Purpose::BesideTcp(_) => {}
        }
    }

    /// Takes what a slice used, as soon as its last turn is over. The few polls that are not over yet make no difference to
    /// when to stop.
    pub(super) fn is_over(&mut self, slice: &OpenSlice) {
        let (PlannedSlice { pass, variant }, seen) = (slice.planned, &slice.seen);
        let is_watched = matches!(pass, Pass::Compare | Pass::Normal);
        if is_watched && !matches!(self.purpose, Purpose::Soak(_)) {
            let sums = SliceSums {
                beyond_ns: seen.site(seen.connections).sums().beyond_ns,
                requests: seen.requests().sum(),
                seconds: seen.duration_ns as f64 / 1e9,
                cpu_ns: slice.used.row.central_cpu_ns,
            };
            self.block.push((variant, sums));
            let (slices, yields) = &mut self.fired[variant];
            *slices += 1;
            *yields += seen.yielded() + slice.used.row.peers_yielded.unwrap_or(0);
        }
    }

    /// Takes a slice whose polls are all over. Returns what to report of it.
    pub(super) fn keep(&mut self, number: u32, slice: OpenSlice) -> Result<Option<NodeMessage>> {
        if let Purpose::Soak(rows) = &self.purpose {
            let row = rows.row(&slice.seen, &slice.used);
            return Ok(Some(NodeMessage::Row(Box::new(row))));
        }
        let row = row(number, &slice);
        let OpenSlice { mut seen, used, .. } = slice;
        if row.pass == Pass::Compare {
            let messages = &mut self.messages[row.variant];
            messages.expected += seen.expected;
            messages.delivered += row.requests.unwrap_or(0);
        }
        if let Purpose::Explain(_, evidence) = &mut self.purpose {
            evidence.write(&row, &mut seen)?;
        }
        if let Some(writer) = &mut self.writer {
            writer.write(&row, &seen, &used.workers, used.quic_row(number))?;
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
        let mut report = self.changes.report(block);
        match &self.purpose {
            Purpose::Compare => {}
            Purpose::BesideTcp(_) => report.requests_per_s = self.changes.requests_per_s(),
            Purpose::Explain(_, evidence) => {
                let variants = 0..self.config().variants.len();
                report.slow_samples = variants.map(|it| evidence.slow_samples(it)).collect();
            }
            Purpose::Soak(_) => return None,
        }
        Some(NodeMessage::Block(report))
    }

    /// Whether it is known well enough after that number of blocks. Launches of subjects are compared with each other, so
    /// none ends by itself.
    pub(super) fn is_enough(&self, blocks: u32) -> bool {
        let config = self.config();
        match &self.purpose {
            Purpose::Explain(plan, evidence) => {
                let mut variants = plan.variants.iter();
                blocks >= plan.blocks && !variants.any(|variant| evidence.lacks_stacks(*variant))
            }
            Purpose::Compare if config.subject.is_none() => {
                let (precision, answers) = (config.plan.precision, self.has_answers());
                let idle = |variant| self.is_idle(variant);
                self.changes.are_within(precision, answers, idle)
            }
            Purpose::Compare | Purpose::BesideTcp(_) | Purpose::Soak(_) => false,
        }
    }

    /// Whether, after that number of blocks, none begins that would end after the planned time.
    pub(super) fn has_time_limit(&self, blocks: u32) -> bool {
        match &self.purpose {
            Purpose::Explain(plan, _) => blocks >= plan.blocks,
            _ => true,
        }
    }

    /// Writes what is kept for the whole run, and waits until the disk has everything. Returns what became of messages.
    pub(super) fn finish(mut self) -> Result<Vec<Messages>> {
        if let Purpose::Explain(_, evidence) = self.purpose {
            evidence.finish()?;
        }
        if let Some(writer) = self.writer {
            writer.finish(self.central.observers.recorder.now_ns())?;
        }
        if self.messages.iter().all(|messages| messages.expected == 0) {
            self.messages.clear();
        }
        Ok(self.messages)
    }
}

/// What the poll functions record in a slice of that pass.
fn mode(pass: Pass) -> Mode {
    match pass {
        Pass::Compare | Pass::SystemCalls | Pass::Activity | Pass::Normal | Pass::Warm => {
            Mode::Minimal
        }
        Pass::Children | Pass::Stacks | Pass::Timeline => Mode::Children,
        Pass::Allocations | Pass::Counters => Mode::Metered,
    }
}

fn row(number: u32, slice: &OpenSlice) -> SliceRow {
    let seen = &slice.seen;
    SliceRow {
        slice: number,
        pass: slice.planned.pass,
        block: slice.block,
        variant: slice.planned.variant,
        start_ms: seen.start_ns as f64 / 1e6,
        duration_ms: seen.duration_ns as f64 / 1e6,
        turns: seen.turns,
        requests: Some(seen.requests().sum()),
        requests_begun_before: Some(seen.begun_before),
        bytes: Some(seen.bytes),
        lost_entries: seen.lost_entries,
        ..slice.used.row.clone()
    }
}
