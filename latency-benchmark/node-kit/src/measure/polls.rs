//! Polls of variants: all of them take turns, or each kind of evidence has slices of its own.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use hdrhistogram::Histogram;
use plan::{
    block::{PlannedSlice, to_compare, to_explain},
    changes::Changes,
    sums::SliceSums,
};
use poll_probe::{Mode, Variant, VariantId};
use run_format::{
    Budgets, Site,
    config::{ExplainPlan, Measurement, SLOW_NS},
    precision::Precision,
    protocol::{CentralTask, NodeMessage},
    run_row::{Messages, Stop},
    tables::{Pass, QuicRow, SliceRow},
    variant::{BASELINE, Role, VariantConfig},
};

use super::{
    sample::Clocks,
    source::{FinishedSlice, Source},
};
use crate::{
    connected::Connected,
    evidence::Evidence,
    observe::{
        observers::Observers,
        replay::Replay,
        slice::{ObservedSlice, coarse_histogram},
    },
    paths::{TrafficPath, TurnSwitch},
    run_writer::{RunWriter, Span},
};

pub(super) struct VariantSlices {
    observers: Observers,
    /// The site of connections.
    connections: Site,
    /// Whether a monitor watches tasks. Some stacks start their tasks themselves.
    watches_tasks: bool,
    variants: Vec<VariantConfig>,
    /// Without any polls yet.
    replay: Replay,
    peers: usize,
    installed: VariantId,
    writer: RunWriter,
    /// Latency by variant and peer.
    per_peer: BTreeMap<(usize, usize), Histogram<u64>>,
    changes: Changes,
    /// The slices of the block so far.
    block: Vec<(usize, SliceSums)>,
    /// Complete slices of each variant, and those of its polls that a budget ended.
    fired: Vec<Fired>,
    messages: Vec<Messages>,
    /// When the variant in force was put in force.
    switched_ns: u64,
    /// Launches of subjects are compared with each other, so none ends by itself.
    is_of_subject: bool,
    turns: u32,
    precision: Precision,
    answers: bool,
    explained: Option<(ExplainPlan, Evidence)>,
    /// Whose turn it is, if requests take two paths.
    paths: Option<TurnSwitch>,
    /// How long requests may take after their turn.
    patience: Duration,
}

impl VariantSlices {
    pub(super) fn new(task: &CentralTask, connected: Connected) -> Result<VariantSlices> {
        let config = &task.config;
        let connections = connected.connections_site();
        let explained = match (&config.measurement, connected.watch) {
            (Measurement::Explain(plan), Some(watch)) => Some((
                plan.clone(),
                Evidence::create(
                    watch,
                    connected.activity,
                    connected.sites.clone(),
                    &task.dir,
                )?,
            )),
            _ => None,
        };
        Ok(VariantSlices {
            connections,
            watches_tasks: connected.tasks.cumulative().instrumented_count > 0,
            observers: connected.observers,
            variants: config.variants.clone(),
            replay: Replay::new(config.variants.iter().map(|it| it.budgets)),
            peers: config.cell.peers,
            installed: Variant::default().install(),
            writer: RunWriter::create(&task.dir, &connected.sites, config, &connected.workers)?,
            per_peer: BTreeMap::new(),
            changes: Changes::new(config.variants.len()),
            block: Vec::new(),
            fired: vec![Fired::default(); config.variants.len()],
            messages: vec![Messages::default(); config.variants.len()],
            switched_ns: 0,
            is_of_subject: config.subject.is_some(),
            turns: config.plan.turns,
            precision: config.plan.precision,
            answers: config.node.workload.has_answers(),
            explained,
            paths: connected.turns,
            patience: Self::PATIENCE.max(4 * Duration::from_millis(config.plan.turn_ms)),
        })
    }

    /// Writes what is kept for the whole run, and waits until the disk has everything. Returns what became of messages.
    pub(super) fn finish(mut self) -> Result<Vec<Messages>> {
        if let Some((_, evidence)) = self.explained {
            evidence.finish()?;
        }
        let span = Span {
            start: Duration::ZERO,
            duration: Duration::from_nanos(self.observers.recorder.now_ns()),
        };
        self.writer.finish(&self.per_peer, span)?;
        if self.messages.iter().all(|it| it.expected == 0) {
            self.messages.clear();
        }
        Ok(self.messages)
    }
}

/// What the poll functions record in a slice of that pass.
fn mode(pass: Pass) -> Mode {
    match pass {
        Pass::Compare | Pass::Activity | Pass::Normal | Pass::Warm => Mode::Minimal,
        Pass::Children | Pass::Stacks | Pass::SystemCalls | Pass::Timeline => Mode::Children,
        Pass::Allocations | Pass::Counters => Mode::Metered,
    }
}

/// How often the budgets of a variant ended a poll.
#[derive(Clone, Default)]
struct Fired {
    slices: u32,
    yields: u64,
}

impl VariantSlices {
    /// Whether the variant has budgets that have never ended a poll. It can have changed nothing, so it has one turn
    /// in a slice, by which it is seen if that changes.
    fn is_idle(&self, variant: usize) -> bool {
        const ENOUGH: u32 = 2;
        let fired = &self.fired[variant];
        self.variants[variant].budgets != Budgets::NONE
            && fired.slices >= ENOUGH
            && fired.yields == 0
    }
}

impl Source for VariantSlices {
    type Turn = PlannedSlice;
    type Seen = ObservedSlice;

    fn warm_up(&self) -> Vec<PlannedSlice> {
        // Every path is to get going.
        let roles = self.variants.iter().map(|it| it.role).enumerate();
        let first = roles.filter(|(variant, role)| match &self.paths {
            Some(_) => *role != Role::Control,
            None => *variant == BASELINE,
        });
        let turn = |(variant, _)| PlannedSlice {
            pass: Pass::Compare,
            variant,
        };
        first.map(turn).collect()
    }

    fn block(&self, block: u32) -> Vec<PlannedSlice> {
        match &self.explained {
            Some((plan, evidence)) if block > plan.blocks => {
                let lack = plan
                    .variants
                    .iter()
                    .filter(|it| evidence.lacks_stacks(**it));
                let stacks = lack.map(|&variant| PlannedSlice {
                    pass: Pass::Stacks,
                    variant,
                });
                stacks.collect()
            }
            Some((plan, evidence)) => to_explain(plan, |pass| evidence.is_available(pass)),
            None => {
                let mut turns = to_compare(block, self.variants.len());
                turns.retain(|it| self.paths.is_none() || it.pass == Pass::Compare);
                turns
            }
        }
    }

    fn turns(&self, turn: PlannedSlice) -> u32 {
        match &self.explained {
            Some(_) => 1,
            None if self.is_idle(turn.variant) => 1,
            None => self.turns,
        }
    }

    fn switch(&mut self, turn: Option<PlannedSlice>) -> Result<()> {
        if let Some(paths) = &self.paths {
            let path = |turn: PlannedSlice| TrafficPath::of(self.variants[turn.variant].role);
            paths.change(turn.map(path), self.patience)?;
        }
        if let Some(PlannedSlice { pass, variant }) = turn {
            let budgets = self.variants[variant].budgets.into();
            let mode = mode(pass);
            self.installed = Variant { budgets, mode }.install();
            self.switched_ns = self.observers.recorder.now_ns();
        }
        Ok(())
    }

    fn prepare(&mut self, turn: PlannedSlice) {
        if let Some((_, evidence)) = &mut self.explained {
            evidence.prepare(turn.pass);
        }
    }

    fn open(&mut self, turn: PlannedSlice) -> ObservedSlice {
        if let Some((_, evidence)) = &mut self.explained {
            evidence.begin(turn.pass);
        }
        let now_ns = self.observers.recorder.now_ns();
        let slice = ObservedSlice::open(self.installed, now_ns, self.peers);
        let slice = slice.switched_at(self.switched_ns);
        let mut slice = slice.of_connections(self.connections);
        slice.replay = (turn.pass == Pass::Children).then(|| self.replay.clone());
        match &self.explained {
            Some(_) => slice.with_whole_polls(),
            None => slice,
        }
    }

    fn reopen(&mut self, seen: &mut ObservedSlice) {
        seen.reopen(self.switched_ns, self.observers.recorder.now_ns());
    }

    /// Evidence is told apart by time alone.
    fn waits_for_late_polls(&self) -> bool {
        self.explained.is_none()
    }

    fn collect(&mut self, into: &mut [&mut ObservedSlice]) {
        self.observers.collect(into);
        if let Some((_, evidence)) = &mut self.explained {
            evidence.collect();
        }
    }

    fn close(&mut self, turn: PlannedSlice, seen: &mut ObservedSlice) {
        seen.close(self.observers.recorder.now_ns());
        if let Some((_, evidence)) = &mut self.explained {
            evidence.end(turn.pass);
        }
    }

    /// The few polls that are not over yet make no difference to when to stop.
    fn is_over(&mut self, turn: PlannedSlice, seen: &ObservedSlice, used: &Clocks) {
        if matches!(turn.pass, Pass::Compare | Pass::Normal) {
            let site = seen.site(seen.connections);
            self.block.push((
                turn.variant,
                SliceSums {
                    slow: site.slower_than(SLOW_NS),
                    slow_ns: site.ns_from(SLOW_NS),
                    polls: site.polls(),
                    requests: seen.requests().sum(),
                    seconds: seen.duration_ns as f64 / 1e9,
                    cpu_ns: used.central.cpu_ns,
                },
            ));
            let fired = &mut self.fired[turn.variant];
            fired.slices += 1;
            fired.yields += seen.sites.iter().map(|site| site.yielded).sum::<u64>();
        }
    }

    fn answers(seen: &ObservedSlice) -> Vec<u64> {
        seen.requests().collect()
    }

    fn keep(&mut self, mut slice: FinishedSlice<VariantSlices>) -> Result<Option<NodeMessage>> {
        let row = row(&slice, self.watches_tasks);
        if row.pass == Pass::Compare {
            let messages = &mut self.messages[row.variant];
            messages.expected += slice.seen.expected;
            messages.delivered += row.requests;
            for (peer, latency_ns) in slice.seen.peer_latency_ns.iter().enumerate() {
                self.per_peer
                    .entry((row.variant, peer))
                    .or_insert_with(coarse_histogram)
                    .add(latency_ns)?;
            }
        }
        if let Some((_, evidence)) = &mut self.explained {
            evidence.write(&row, &mut slice.seen)?;
        }
        let quic = quic_row(&slice);
        self.writer
            .write(&row, &slice.seen, &slice.used.workers, quic)?;
        Ok(None)
    }

    fn end_block(&mut self, is_disturbed: bool) {
        let slices = std::mem::take(&mut self.block);
        for (variant, slice) in slices.into_iter().filter(|_| !is_disturbed) {
            self.changes.add(variant, slice);
        }
    }

    fn report(&self, block: u32) -> Option<NodeMessage> {
        let mut report = self.changes.report(block);
        if let Some((_, evidence)) = &self.explained {
            let variants = 0..self.variants.len();
            report.slow_samples = variants.map(|it| evidence.slow_samples(it)).collect();
        }
        if self.paths.is_some() {
            report.requests_per_s = self.changes.requests_per_s();
        }
        Some(NodeMessage::Block(report))
    }

    fn has_time_limit(&self, blocks: u32) -> bool {
        let least = self.explained.as_ref().map(|(plan, _)| plan.blocks);
        least.is_none_or(|least| blocks >= least)
    }

    fn is_enough(&self, blocks: u32) -> Option<Stop> {
        match &self.explained {
            Some((plan, evidence)) => {
                let mut variants = plan.variants.iter();
                let is_enough =
                    blocks >= plan.blocks && !variants.any(|it| evidence.lacks_stacks(*it));
                is_enough.then_some(Stop::Precise)
            }
            None if self.is_of_subject || self.paths.is_some() => None,
            None => self
                .changes
                .are_within(self.precision, self.answers, |it| self.is_idle(it))
                .then_some(Stop::Precise),
        }
    }
}

fn quic_row(slice: &FinishedSlice<VariantSlices>) -> Option<QuicRow> {
    let of = slice.used.quic?;
    Some(QuicRow {
        slice: slice.number,
        rtt_ns: of.rtt_ns.checked_div(of.connections)?,
        packets_sent: of.packets_sent,
        packets_lost: of.packets_lost,
        congestion_events: of.congestion_events,
        acks_sent: of.acks_sent,
        acks_received: of.acks_received,
        datagrams_sent: of.datagrams_sent,
        datagrams_received: of.datagrams_received,
        send_calls: of.send_calls,
        receive_calls: of.receive_calls,
    })
}

fn row(slice: &FinishedSlice<VariantSlices>, watches_tasks: bool) -> SliceRow {
    let FinishedSlice {
        turn, seen, used, ..
    } = slice;
    let of_tasks = |sum: u64| watches_tasks.then_some(sum);
    SliceRow {
        slice: slice.number,
        pass: turn.pass,
        block: slice.block,
        variant: turn.variant,
        start_ms: seen.start_ns as f64 / 1e6,
        duration_ms: seen.duration_ns as f64 / 1e6,
        sampled_ms: used.at_ms,
        turns: seen.turns,
        requests: seen.requests().sum(),
        requests_begun_before: seen.begun_before,
        bytes: seen.bytes,
        lost_entries: seen.lost_entries,
        central_cpu_ns: used.central.cpu_ns,
        central_runqueue_ns: used.central.runqueue_ns,
        helpers_cpu_ns: used.helpers.cpu_ns,
        observers_cpu_ns: used.observers.cpu_ns,
        monitor_task_polls: of_tasks(used.runtime.task_polls),
        monitor_task_ns: of_tasks(used.runtime.task_ns),
        monitor_slow_task_polls: of_tasks(used.runtime.slow_task_polls),
        monitor_scheduled_ns: of_tasks(used.runtime.scheduled_ns),
        runtime_busy_ns: used.runtime.busy_ns,
        runtime_parks: used.runtime.parks,
    }
}
