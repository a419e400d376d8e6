//! Takes turns with the variants inside one process, in blocks of random order, and cuts a slice
//! out of each turn.

mod estimate;
mod sample;

use std::{
    collections::BTreeMap,
    sync::mpsc::{Receiver, TryRecvError},
    time::{Duration, Instant},
};

use anyhow::Result;
use hdrhistogram::Histogram;
use poll_probe::{Mode, Site, Variant};
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use serde::{Deserialize, Serialize};

use self::{
    estimate::Estimates,
    sample::{Sample, Sampler},
};
use crate::{
    config::{Plan, VariantConfig},
    node::central::Observed,
    observe::{
        process::Subject,
        slice::{Observers, Slice, coarse_histogram},
    },
    store::{
        rows::{Pass, SliceRow, Stop},
        run_writer::{RunWriter, Span},
    },
};

/// Tokio's threshold, by which the sweep decides when it knows enough. The histograms are stored, so
/// that readers may choose another.
pub(crate) const SLOW_NS: u64 = 50_000;

/// What is told while it goes on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct BlockDone {
    pub(crate) block: u32,
    /// Of `Connection::poll`, by variant; null before it can be said.
    pub(crate) slow_percent: Vec<Option<f64>>,
    /// Half the width of its 95 % interval.
    pub(crate) margin_percent: Vec<Option<f64>>,
}

/// How measuring went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) stop: Stop,
    pub(crate) blocks: u32,
    /// Of warm-up, settling and slices.
    pub(crate) planned: Duration,
}

/// Who is measured, besides central.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Others {
    pub(crate) peers: Vec<i32>,
    pub(crate) delay_line: Option<i32>,
}

/// What to measure.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) plan: Plan,
    pub(crate) variants: &'a [VariantConfig],
    pub(crate) peers: usize,
    pub(crate) others: &'a Others,
    pub(crate) seed: u64,
}

/// Measures until it is enough. A message on `stop`, or the end of it, means enough.
pub(crate) fn measure(
    observed: Observed,
    task: &Task<'_>,
    writer: RunWriter,
    stop: &Receiver<()>,
    mut tell: impl FnMut(BlockDone),
) -> Result<Measured> {
    let Task {
        others,
        plan,
        variants,
        peers,
        seed,
    } = *task;
    let peer_pids: Vec<Subject> = others.peers.iter().copied().map(Subject::Process).collect();
    let delay_line = others.delay_line.map(Subject::Process);
    let sampler = Sampler::new(
        observed.tasks,
        &observed.runtime,
        observed.workers,
        peer_pids,
        delay_line,
    );
    let mut measuring = Measuring {
        observers: observed.observers,
        sampler,
        plan,
        variants,
        peers,
        writer,
        stop,
        open: None,
        slices: 0,
        planned: Duration::ZERO,
        per_peer: BTreeMap::new(),
        estimates: Estimates::new(variants.len()),
    };
    let mut rng = StdRng::seed_from_u64(seed);
    measuring.warm_up();
    let started = Instant::now();
    let children_take = plan.pass(1) * plan.children_slices;
    let mut blocks = 0;
    let stop = loop {
        if !measuring.block(blocks + 1, &mut rng)? {
            break Stop::Interrupted;
        }
        blocks += 1;
        tell(measuring.estimates.block_done(blocks));
        if measuring.estimates.are_within(plan.precision) {
            break Stop::Precise;
        }
        // A block that would end after the time is up is not begun.
        let after_next = started.elapsed() + plan.pass(variants.len()) + children_take;
        if after_next > Duration::from_millis(plan.max_ms) {
            break Stop::Cap;
        }
    };
    for _ in 0..plan.children_slices {
        if measuring.is_stopped() {
            return measuring.finish(Stop::Interrupted, blocks);
        }
        measuring.slice(Pass::Children, blocks, BASELINE)?;
    }
    measuring.finish(stop, blocks)
}

/// The variant that the others are compared with.
const BASELINE: usize = 0;

struct Measuring<'a> {
    observers: Observers,
    sampler: Sampler,
    plan: Plan,
    variants: &'a [VariantConfig],
    peers: usize,
    writer: RunWriter,
    stop: &'a Receiver<()>,
    /// The last slice, over but still waiting for polls that it began.
    open: Option<Open>,
    slices: u32,
    planned: Duration,
    /// Latency by variant and peer.
    per_peer: BTreeMap<(usize, usize), Histogram<u64>>,
    estimates: Estimates,
}

/// A slice that is not written yet.
struct Open {
    number: u32,
    pass: Pass,
    block: u32,
    variant: usize,
    slice: Slice,
    used: Sample,
}

impl Measuring<'_> {
    fn warm_up(&mut self) {
        self.install(BASELINE, Mode::Minimal);
        self.sleep(Duration::from_millis(self.plan.warm_up_ms), None);
    }

    /// One slice of each variant, in random order. Returns whether it got through.
    fn block(&mut self, block: u32, rng: &mut StdRng) -> Result<bool> {
        let mut order: Vec<usize> = (0..self.variants.len()).collect();
        order.shuffle(rng);
        for variant in order {
            if self.is_stopped() {
                return Ok(false);
            }
            self.slice(Pass::Compare, block, variant)?;
        }
        Ok(true)
    }

    fn slice(&mut self, pass: Pass, block: u32, variant: usize) -> Result<()> {
        let mode = match pass {
            Pass::Compare => Mode::Minimal,
            Pass::Children => Mode::Children,
        };
        let id = self.install(variant, mode);
        self.settle()?;
        let before = self.sampler.sample();
        let mut slice = Slice::open(id, self.observers.recorder.now_ns(), self.peers);
        self.sleep(Duration::from_millis(self.plan.slice_ms), Some(&mut slice));
        slice.close(self.observers.recorder.now_ns());
        let after = self.sampler.sample();
        if pass == Pass::Compare {
            // The few polls that are not over yet make no difference to when to stop.
            let site = slice.site(Site::Connection);
            self.estimates
                .add(variant, site.slower_than(SLOW_NS), site.polls());
        }
        self.slices += 1;
        self.open = Some(Open {
            number: self.slices,
            pass,
            block,
            variant,
            slice,
            used: after.since(&before),
        });
        Ok(())
    }

    /// Lets pass what the variant before has left, and writes the slice before.
    fn settle(&mut self) -> Result<()> {
        let mut last = self.open.take();
        let settling = Duration::from_millis(self.plan.settle_ms);
        self.sleep(settling, last.as_mut().map(|open| &mut open.slice));
        last.map_or(Ok(()), |open| self.write(&open))
    }

    fn install(&self, variant: usize, mode: Mode) -> poll_probe::VariantId {
        let budgets = self.variants[variant].budgets;
        Variant { budgets, mode }.install()
    }

    /// Sleeps, and empties the buffers before they are full.
    fn sleep(&mut self, time: Duration, mut slice: Option<&mut Slice>) {
        const BUFFERS_LAST: Duration = Duration::from_millis(50);
        self.planned += time;
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(BUFFERS_LAST));
            self.observers.collect(slice.as_deref_mut());
            if Instant::now() >= end {
                return;
            }
        }
    }

    fn write(&mut self, open: &Open) -> Result<()> {
        let (row, slice) = (open.row(), &open.slice);
        for (peer, latency_ns) in slice.peer_latency_ns.iter().enumerate() {
            let sum = self
                .per_peer
                .entry((row.variant, peer))
                .or_insert_with(coarse_histogram);
            sum.add(latency_ns)?;
        }
        self.writer.write(&row, slice)
    }

    fn is_stopped(&self) -> bool {
        !matches!(self.stop.try_recv(), Err(TryRecvError::Empty))
    }

    fn finish(mut self, stop: Stop, blocks: u32) -> Result<Measured> {
        self.settle()?;
        let span = Span {
            start: Duration::ZERO,
            duration: Duration::from_nanos(self.observers.recorder.now_ns()),
        };
        self.writer.finish(&self.per_peer, span)?;
        Ok(Measured {
            stop,
            blocks,
            planned: self.planned,
        })
    }
}

impl Open {
    fn row(&self) -> SliceRow {
        let Open { slice, used, .. } = self;
        SliceRow {
            slice: self.number,
            pass: self.pass,
            block: self.block,
            variant: self.variant,
            start_ms: slice.window_ns.start as f64 / 1e6,
            duration_ms: slice.duration_ns() as f64 / 1e6,
            requests: slice.requests().sum(),
            bytes: slice.bytes,
            lost_entries: slice.lost_entries,
            central_user_ms: used.central.user_ms,
            central_system_ms: used.central.system_ms,
            central_voluntary_switches: used.central.voluntary_switches,
            central_involuntary_switches: used.central.involuntary_switches,
            peers_user_ms: used.peers.user_ms,
            peers_system_ms: used.peers.system_ms,
            delay_line_user_ms: used.delay_line.user_ms,
            delay_line_system_ms: used.delay_line.system_ms,
            steal_ms: used.steal_ms,
            central_tcp_retransmits: used.tcp_retransmits,
            monitor_task_polls: used.task_polls,
            monitor_task_ns: used.task_ns,
            monitor_slow_task_polls: used.slow_task_polls,
            monitor_scheduled_ns: used.scheduled_ns,
            runtime_busy_ns: used.runtime_busy_ns,
            runtime_parks: used.runtime_parks,
        }
    }
}
