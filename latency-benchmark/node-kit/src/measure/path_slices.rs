//! Slices of two paths, of which one at a time has transactions.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use hdrhistogram::Histogram;
use run_format::{
    files::{HISTOGRAMS, RR},
    histogram_tag::{HistogramOf, HistogramTag},
    protocol::{BlockReport, CentralTask, NodeMessage},
    table::TableWriters,
    tables::{Pass, PathRow, TrafficPath},
    variant::Role,
};

use super::{
    source::{FinishedSlice, Source},
    transactions::Transactions,
};
use crate::{
    observe::slice::histogram,
    run_writer::{HistogramLog, Span},
};

pub(super) struct PathSlices {
    transactions: Transactions,
    peers: usize,
    roles: Vec<Role>,
    patience: Duration,
    rows: TableWriters,
    histograms: HistogramLog,
    /// Transactions and seconds, by variant.
    sums: Vec<(u64, f64)>,
}

/// What is seen in a slice. A transaction belongs to the slice in which it ended.
pub(super) struct PathSlice {
    path: TrafficPath,
    start_ns: u64,
    end_ns: u64,
    latency_ns: Histogram<u64>,
    by_peer: Vec<u64>,
    of_other_path: u64,
    lost: u64,
}

impl PathSlices {
    pub(super) fn new(task: &CentralTask, transactions: Transactions) -> Result<Self> {
        let config = &task.config;
        Ok(PathSlices {
            transactions,
            peers: config.cell.peers,
            roles: config.variants.iter().map(|variant| variant.role).collect(),
            patience: Self::PATIENCE.max(4 * Duration::from_millis(config.plan.turn_ms)),
            rows: TableWriters::create(&task.dir, &[RR])?,
            histograms: HistogramLog::create(&task.dir.join(HISTOGRAMS))?,
            sums: vec![(0, 0.0); config.variants.len()],
        })
    }

    /// Waits until the disk has everything.
    pub(super) fn finish(self) -> Result<()> {
        self.rows.finish()?;
        self.histograms.finish()
    }

    fn path(&self, variant: usize) -> TrafficPath {
        TrafficPath::of(self.roles[variant])
    }
}

impl Source for PathSlices {
    /// The variant.
    type Turn = usize;
    type Seen = PathSlice;

    const READS_MACHINE_BY_SLICE: bool = true;

    fn warm_up(&self) -> Vec<usize> {
        let first = |path| (0..self.roles.len()).find(|&variant| self.path(variant) == path);
        [TrafficPath::RawTcp, TrafficPath::Libp2p]
            .into_iter()
            .filter_map(first)
            .collect()
    }

    fn block(&self, _: u32) -> Vec<usize> {
        (0..self.roles.len()).collect()
    }

    fn switch(&mut self, turn: Option<usize>) -> Result<()> {
        const LOOK: Duration = Duration::from_millis(1);
        let switch = &self.transactions.switch;
        switch.give(None);
        let began = Instant::now();
        while !switch.is_idle() {
            if began.elapsed() > self.patience {
                let seconds = began.elapsed().as_secs_f64();
                bail!("a transaction was not over {seconds:.0} s after its turn");
            }
            std::thread::sleep(LOOK);
        }
        if let Some(variant) = turn {
            self.transactions.switch.give(Some(self.path(variant)));
        }
        Ok(())
    }

    fn open(&mut self, variant: usize) -> PathSlice {
        PathSlice {
            path: self.path(variant),
            start_ns: self.transactions.clock.now_ns(),
            end_ns: u64::MAX,
            latency_ns: histogram(),
            by_peer: vec![0; self.peers],
            of_other_path: 0,
            lost: 0,
        }
    }

    fn collect(&mut self, into: &mut [&mut PathSlice]) {
        let Some(seen) = into.first_mut() else {
            self.transactions.over.drain(drop);
            return;
        };
        let window = seen.start_ns..seen.end_ns;
        seen.lost += self.transactions.over.drain(|over| {
            if !window.contains(&over.at_ns) {
                return;
            }
            if over.path == seen.path {
                seen.latency_ns.saturating_record(over.latency_ns);
                seen.by_peer[over.peer] += 1;
            } else {
                seen.of_other_path += 1;
            }
        });
    }

    fn close(&mut self, _: usize, seen: &mut PathSlice) {
        seen.end_ns = self.transactions.clock.now_ns();
    }

    fn answers(seen: &PathSlice) -> Vec<u64> {
        seen.by_peer.clone()
    }

    fn keep(&mut self, slice: FinishedSlice<PathSlices>) -> Result<Option<NodeMessage>> {
        let FinishedSlice {
            turn: variant,
            seen,
            used,
            machine,
            ..
        } = &slice;
        let machine = machine.context("the slice has no sums of the kernel")?;
        let duration_ns = seen.end_ns - seen.start_ns;
        let sum = &mut self.sums[*variant];
        sum.0 += seen.latency_ns.len();
        sum.1 += duration_ns as f64 / 1e9;
        let tag = HistogramTag::new(HistogramOf::Latency, *variant, Pass::Compare);
        let span = Span {
            start: Duration::from_nanos(seen.start_ns),
            duration: Duration::from_nanos(duration_ns),
        };
        self.histograms.interval(tag, span, &seen.latency_ns)?;
        self.histograms.flush()?;
        // Last, so that a slice in this table has its histogram.
        let row = PathRow {
            slice: slice.number,
            block: slice.block,
            variant: *variant,
            path: seen.path,
            start_ms: seen.start_ns as f64 / 1e6,
            duration_ms: duration_ns as f64 / 1e6,
            sampled_ms: used.at_ms,
            transactions: seen.latency_ns.len(),
            other_path_transactions: seen.of_other_path,
            lost_entries: seen.lost,
            central_cpu_ns: used.central.cpu_ns,
            central_runqueue_ns: used.central.runqueue_ns,
            central_user_ms: machine.central.user_ms,
            central_system_ms: machine.central.system_ms,
            central_voluntary_switches: machine.central.voluntary_switches,
            central_involuntary_switches: machine.central.involuntary_switches,
            helpers_cpu_ns: used.helpers.cpu_ns,
            peers_user_ms: machine.peers.user_ms,
            peers_system_ms: machine.peers.system_ms,
            steal_ms: machine.times.steal_ms,
            central_tcp_retransmits: machine.central_network.retransmits,
            peers_tcp_retransmits: machine.peers_network.retransmits,
            central_received_bytes: machine.received_bytes,
            central_sent_bytes: machine.sent_bytes,
            libp2p_polls: used.runtime.task_polls,
        };
        self.rows.row(RR, &row)?;
        self.rows.flush()?;
        Ok(None)
    }

    fn report(&self, block: u32) -> Option<NodeMessage> {
        let rate = |&(count, seconds): &(u64, f64)| (seconds > 0.0).then(|| count as f64 / seconds);
        Some(NodeMessage::Block(BlockReport {
            block,
            requests_per_s: self.sums.iter().map(rate).collect(),
            ..BlockReport::default()
        }))
    }
}
