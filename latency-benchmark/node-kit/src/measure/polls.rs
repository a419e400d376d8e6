//! Polls of variants: all of them take turns, or each kind of evidence has slices of its own.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use hdrhistogram::Histogram;
use poll_probe::{Mode, Site, Variant, VariantId};
use run_format::{
    config::{ExplainPlan, Measurement, SLOW_NS},
    precision::Precision,
    protocol::{CentralTask, NodeMessage},
    run_row::Stop,
    slow_ratios::SlowRatios,
    tables::{Pass, SliceRow},
    turns::{Turn, to_compare, to_explain},
    variant::{BASELINE, VariantConfig},
};

use super::source::{FinishedSlice, Source};
use crate::{
    connected::Connected,
    evidence::Evidence,
    observe::slice::{ObservedSlice, Observers, coarse_histogram},
    run_writer::{RunWriter, Span},
};

pub(super) struct Polls {
    observers: Observers,
    variants: Vec<VariantConfig>,
    peers: usize,
    installed: VariantId,
    writer: RunWriter,
    /// Latency by variant and peer.
    per_peer: BTreeMap<(usize, usize), Histogram<u64>>,
    ratios: SlowRatios,
    precision: Precision,
    answers: bool,
    explained: Option<(ExplainPlan, Evidence)>,
}

impl Polls {
    pub(super) fn new(task: &CentralTask, connected: Connected) -> Result<Polls> {
        let config = &task.config;
        let explained = match (&config.measurement, connected.watch) {
            (Measurement::Explain(plan), Some(watch)) => Some((
                plan.clone(),
                Evidence::create(watch, connected.activity, &task.dir)?,
            )),
            _ => None,
        };
        Ok(Polls {
            observers: connected.observers,
            variants: config.variants.clone(),
            peers: config.cell.peers,
            installed: Variant::default().install(),
            writer: RunWriter::create(&task.dir, config.node.transport)?,
            per_peer: BTreeMap::new(),
            ratios: SlowRatios::new(config.variants.len()),
            precision: config.plan.precision,
            answers: config.node.workload.has_answers(),
            explained,
        })
    }

    /// Writes what is kept for the whole run, and waits until the disk has everything.
    pub(super) fn finish(self) -> Result<()> {
        if let Some((_, evidence)) = self.explained {
            evidence.finish()?;
        }
        let span = Span {
            start: Duration::ZERO,
            duration: Duration::from_nanos(self.observers.recorder.now_ns()),
        };
        self.writer.finish(&self.per_peer, span)
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

impl Source for Polls {
    type Turn = Turn;
    type Seen = ObservedSlice;

    fn warm_up(&self) -> Vec<Turn> {
        vec![Turn {
            pass: Pass::Compare,
            variant: BASELINE,
        }]
    }

    fn block(&self, block: u32) -> Vec<Turn> {
        match &self.explained {
            Some((plan, evidence)) => to_explain(plan, |pass| evidence.is_available(pass)),
            None => to_compare(block, self.variants.len()),
        }
    }

    fn switch(&mut self, turn: Option<Turn>) -> Result<()> {
        if let Some(Turn { pass, variant }) = turn {
            let budgets = self.variants[variant].budgets;
            let mode = mode(pass);
            self.installed = Variant { budgets, mode }.install();
        }
        Ok(())
    }

    fn prepare(&mut self, turn: Turn) {
        if let Some((_, evidence)) = &mut self.explained {
            evidence.prepare(turn.pass);
        }
    }

    fn open(&mut self, turn: Turn) -> ObservedSlice {
        if let Some((_, evidence)) = &mut self.explained {
            evidence.begin(turn.pass);
        }
        let now_ns = self.observers.recorder.now_ns();
        let slice = ObservedSlice::open(self.installed, now_ns, self.peers);
        match &self.explained {
            Some(_) => slice.with_whole_polls(),
            None => slice,
        }
    }

    fn collect(&mut self, into: Option<&mut ObservedSlice>) {
        self.observers.collect(into);
        if let Some((_, evidence)) = &mut self.explained {
            evidence.collect();
        }
    }

    fn close(&mut self, turn: Turn, seen: &mut ObservedSlice) {
        seen.close(self.observers.recorder.now_ns());
        if let Some((_, evidence)) = &mut self.explained {
            evidence.end(turn.pass);
        }
        if matches!(turn.pass, Pass::Compare | Pass::Normal) {
            // The few polls that are not over yet make no difference to when to stop.
            let site = seen.site(Site::Connection);
            let requests = seen.requests().sum();
            self.ratios.add(
                turn.variant,
                site.slower_than(SLOW_NS),
                site.polls(),
                requests,
            );
        }
    }

    fn answers(seen: &ObservedSlice) -> Vec<u64> {
        seen.requests().collect()
    }

    fn keep(&mut self, slice: FinishedSlice<Polls>) -> Result<Option<NodeMessage>> {
        let (row, seen) = (row(&slice), &slice.seen);
        if row.pass == Pass::Compare {
            for (peer, latency_ns) in seen.peer_latency_ns.iter().enumerate() {
                self.per_peer
                    .entry((row.variant, peer))
                    .or_insert_with(coarse_histogram)
                    .add(latency_ns)?;
            }
        }
        if let Some((_, evidence)) = &mut self.explained {
            evidence.write(&row, seen)?;
        }
        self.writer.write(&row, seen)?;
        Ok(None)
    }

    fn report(&self, block: u32) -> Option<NodeMessage> {
        Some(NodeMessage::Block(self.ratios.report(block)))
    }

    fn has_time_limit(&self) -> bool {
        self.explained.is_none()
    }

    fn is_enough(&self, blocks: u32) -> Option<Stop> {
        match &self.explained {
            Some((plan, _)) => (blocks >= plan.blocks).then_some(Stop::Cap),
            None => self
                .ratios
                .are_within(self.precision, self.answers)
                .then_some(Stop::Precise),
        }
    }
}

fn row(slice: &FinishedSlice<Polls>) -> SliceRow {
    let FinishedSlice {
        turn, seen, used, ..
    } = slice;
    SliceRow {
        slice: slice.number,
        pass: turn.pass,
        block: slice.block,
        variant: turn.variant,
        start_ms: seen.window_ns.start as f64 / 1e6,
        duration_ms: seen.duration_ns() as f64 / 1e6,
        sampled_ms: used.at_ms,
        requests: seen.requests().sum(),
        requests_begun_before: seen.begun_before,
        bytes: seen.bytes,
        lost_entries: seen.lost_entries,
        central_cpu_ns: used.central.cpu_ns,
        central_runqueue_ns: used.central.runqueue_ns,
        central_user_ms: used.central.user_ms,
        central_system_ms: used.central.system_ms,
        central_voluntary_switches: used.central.voluntary_switches,
        central_involuntary_switches: used.central.involuntary_switches,
        helpers_cpu_ns: used.helpers.cpu_ns,
        observers_cpu_ns: used.observers.cpu_ns,
        peers_user_ms: used.peers.user_ms,
        peers_system_ms: used.peers.system_ms,
        peers_voluntary_switches: used.peers.voluntary_switches,
        peers_involuntary_switches: used.peers.involuntary_switches,
        delay_line_user_ms: used.delay_line.user_ms,
        delay_line_system_ms: used.delay_line.system_ms,
        steal_ms: used.steal_ms,
        central_tcp_retransmits: used.central_network.retransmits,
        peers_tcp_retransmits: used.peers_network.retransmits,
        central_queue_drops: used.central_network.queue_drops,
        peers_queue_drops: used.peers_network.queue_drops,
        central_received_bytes: used.received_bytes,
        central_sent_bytes: used.sent_bytes,
        monitor_task_polls: used.runtime.task_polls,
        monitor_task_ns: used.runtime.task_ns,
        monitor_slow_task_polls: used.runtime.slow_task_polls,
        monitor_scheduled_ns: used.runtime.scheduled_ns,
        runtime_busy_ns: used.runtime.busy_ns,
        runtime_parks: used.runtime.parks,
    }
}
