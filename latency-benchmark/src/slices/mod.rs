//! Takes turns with the variants inside one process, in blocks of random order, and cuts a slice
//! out of each turn.

pub(crate) mod estimate;
pub(crate) mod rr;
mod sample;
mod turns;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::mpsc::{Receiver, TryRecvError},
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;
use poll_probe::{Mode, Site, Variant};
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use serde::{Deserialize, Serialize};

pub(crate) use self::turns::{BASELINE, most_to_explain};
use self::{
    estimate::Estimates,
    sample::{Sample, Sampler, Subjects},
    turns::{Turn, to_compare, to_explain},
};
use crate::{
    config::{ExplainConfig, Plan, VariantConfig},
    evidence::Evidence,
    node::central::Observed,
    observe::{
        process::{self, Subject},
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
    /// What is told instead where no poll is recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) requests_per_s: Vec<Option<f64>>,
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
    /// Whether every peer is to answer all the time, so that silence is a fault.
    pub(crate) answers: bool,
    pub(crate) others: &'a Others,
    pub(crate) seed: u64,
    /// In place of comparing variants.
    pub(crate) explain: Option<Explain<'a>>,
}

/// How to explain a cell.
#[derive(Clone, Copy)]
pub(crate) struct Explain<'a> {
    pub(crate) config: &'a ExplainConfig,
    /// Where the evidence is written.
    pub(crate) dir: &'a Path,
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
        answers,
        seed,
        explain,
    } = *task;
    let evidence = match (explain, observed.watch) {
        (Some(explain), Some(watch)) => {
            Some(Evidence::create(watch, observed.activity, explain.dir)?)
        }
        _ => None,
    };
    let (observing, helping) = process::other_threads(&observed.workers)?;
    let subjects = Subjects {
        central: observed.workers,
        helpers: helping,
        observers: observing,
        peers: others.peers.iter().copied().map(Subject::Process).collect(),
        delay_line: others.delay_line.map(Subject::Process),
    };
    let mut measuring = Measuring {
        observers: observed.observers,
        sampler: Sampler::new(observed.tasks, &observed.runtime, subjects),
        plan,
        variants,
        peers,
        answers,
        writer,
        stop,
        stopped: false,
        open: None,
        slices: 0,
        planned: Duration::ZERO,
        last_answer: Instant::now(),
        per_peer: BTreeMap::new(),
        estimates: Estimates::new(variants.len()),
        evidence,
    };
    let mut rng = StdRng::seed_from_u64(seed);
    measuring.warm_up()?;
    let started = Instant::now();
    let mut blocks = 0;
    let stop = loop {
        let turns = measuring.turns(explain, blocks + 1);
        if !measuring.block(blocks + 1, turns, &mut rng)? {
            break Stop::Interrupted;
        }
        blocks += 1;
        tell(measuring.estimates.block_done(blocks));
        if let Some(explain) = explain {
            if blocks >= explain.config.blocks {
                break Stop::Cap;
            }
            continue;
        }
        if measuring.estimates.are_within(plan.precision, answers) {
            break Stop::Precise;
        }
        // A block that would end after the time is up is not begun.
        let next = plan.pass(measuring.turns(explain, blocks + 1).len());
        if started.elapsed() + next > Duration::from_millis(plan.max_ms) {
            break Stop::Cap;
        }
    };
    measuring.finish(stop, blocks)
}

struct Measuring<'a> {
    observers: Observers,
    sampler: Sampler,
    plan: Plan,
    variants: &'a [VariantConfig],
    peers: usize,
    answers: bool,
    writer: RunWriter,
    stop: &'a Receiver<()>,
    stopped: bool,
    /// The last slice, over but still waiting for polls that it began.
    open: Option<Open>,
    slices: u32,
    planned: Duration,
    last_answer: Instant,
    /// Latency by variant and peer.
    per_peer: BTreeMap<(usize, usize), Histogram<u64>>,
    estimates: Estimates,
    /// Where the cell is explained.
    evidence: Option<Evidence>,
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
    /// At least so long, and until every peer has answered: large requests over long links take
    /// seconds to get going.
    fn warm_up(&mut self) -> Result<()> {
        const PATIENCE: Duration = Duration::from_secs(60);
        const LOOK: Duration = Duration::from_millis(100);
        let id = self.install(BASELINE, Mode::Minimal);
        let started = Instant::now();
        let mut slice = Slice::open(id, self.observers.recorder.now_ns(), self.peers);
        self.sleep(
            Duration::from_millis(self.plan.warm_up_ms),
            Some(&mut slice),
        );
        while self.answers && !self.is_stopped() {
            let Some(silent) = slice.requests().position(|requests| requests == 0) else {
                break;
            };
            if started.elapsed() > PATIENCE {
                bail!(
                    "peer {} answered nothing within {} s",
                    silent + 1,
                    PATIENCE.as_secs()
                );
            }
            self.sleep(LOOK, Some(&mut slice));
        }
        self.last_answer = Instant::now();
        Ok(())
    }

    fn turns(&self, explain: Option<Explain<'_>>, block: u32) -> Vec<Turn> {
        match (explain, &self.evidence) {
            (Some(explain), Some(evidence)) => {
                to_explain(explain.config, |pass| evidence.there_is(pass))
            }
            _ => to_compare(block, self.variants.len()),
        }
    }

    /// A slice of everything that it is the turn of, in random order. Returns whether it got through.
    fn block(&mut self, block: u32, mut turns: Vec<Turn>, rng: &mut StdRng) -> Result<bool> {
        turns.shuffle(rng);
        for turn in turns {
            if self.is_stopped() {
                return Ok(false);
            }
            self.slice(block, turn)?;
        }
        Ok(true)
    }

    fn slice(&mut self, block: u32, turn: Turn) -> Result<()> {
        let Turn { pass, variant } = turn;
        let id = self.install(variant, pass.mode());
        self.settle(Some(pass))?;
        let before = self.sampler.sample(self.now_ms());
        if let Some(evidence) = &mut self.evidence {
            evidence.begin(pass);
        }
        let mut slice = Slice::open(id, self.observers.recorder.now_ns(), self.peers);
        if self.evidence.is_some() {
            slice = slice.with_whole_polls();
        }
        self.sleep(Duration::from_millis(self.plan.slice_ms), Some(&mut slice));
        slice.close(self.observers.recorder.now_ns());
        if let Some(evidence) = &mut self.evidence {
            evidence.end(pass);
        }
        let after = self.sampler.sample(self.now_ms());
        self.refuse_silence(&slice)?;
        if matches!(pass, Pass::Compare | Pass::Normal) {
            // The few polls that are not over yet make no difference to when to stop.
            let site = slice.site(Site::Connection);
            let slow = site.slower_than(SLOW_NS);
            self.estimates
                .add(variant, slow, site.polls(), slice.requests().sum());
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

    fn now_ms(&self) -> f64 {
        self.observers.recorder.now_ns() as f64 / 1e6
    }

    /// Slices in which nothing happens are not a measurement of anything.
    fn refuse_silence(&mut self, slice: &Slice) -> Result<()> {
        const PATIENCE: Duration = Duration::from_secs(10);
        if slice.requests().sum::<u64>() > 0 {
            self.last_answer = Instant::now();
        }
        let silence = self.last_answer.elapsed();
        if self.answers && silence > PATIENCE.max(4 * Duration::from_millis(self.plan.slice_ms)) {
            bail!(
                "no peer has answered anything for {:.0} s",
                silence.as_secs_f64()
            );
        }
        Ok(())
    }

    /// Lets pass what the variant before has left. In the first half the slice before waits for its
    /// last polls; then it is written, which is over before the second half is, or has a moment to
    /// be forgotten. What the next slice needs to be so from its start, is so from here on.
    fn settle(&mut self, next: Option<Pass>) -> Result<()> {
        const QUIET: Duration = Duration::from_millis(10);
        let settling = Duration::from_millis(self.plan.settle_ms);
        self.planned += settling;
        let began = Instant::now();
        let mut last = self.open.take();
        self.sleep_until(
            began + settling / 2,
            last.as_mut().map(|open| &mut open.slice),
        );
        if let Some(open) = last {
            self.write(&open)?;
        }
        if let (Some(evidence), Some(next)) = (&mut self.evidence, next) {
            evidence.prepare(next);
        }
        self.sleep_until((began + settling).max(Instant::now() + QUIET), None);
        Ok(())
    }

    fn install(&self, variant: usize, mode: Mode) -> poll_probe::VariantId {
        let budgets = self.variants[variant].budgets;
        Variant { budgets, mode }.install()
    }

    fn sleep(&mut self, time: Duration, slice: Option<&mut Slice>) {
        self.planned += time;
        self.sleep_until(Instant::now() + time, slice);
    }

    /// Empties the buffers before they are full.
    fn sleep_until(&mut self, end: Instant, mut slice: Option<&mut Slice>) {
        const BUFFERS_LAST: Duration = Duration::from_millis(50);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(BUFFERS_LAST));
            self.observers.collect(slice.as_deref_mut());
            if let Some(evidence) = &mut self.evidence {
                evidence.collect();
            }
            if Instant::now() >= end {
                return;
            }
        }
    }

    fn write(&mut self, open: &Open) -> Result<()> {
        let (row, slice) = (open.row(), &open.slice);
        if open.pass == Pass::Compare {
            for (peer, latency_ns) in slice.peer_latency_ns.iter().enumerate() {
                let key = (row.variant, peer);
                self.per_peer
                    .entry(key)
                    .or_insert_with(coarse_histogram)
                    .add(latency_ns)?;
            }
        }
        if let Some(evidence) = &mut self.evidence {
            evidence.write(&row, slice)?;
        }
        self.writer.write(&row, slice)
    }

    fn is_stopped(&mut self) -> bool {
        self.stopped |= !matches!(self.stop.try_recv(), Err(TryRecvError::Empty));
        self.stopped
    }

    fn finish(mut self, stop: Stop, blocks: u32) -> Result<Measured> {
        self.settle(None)?;
        if let Some(evidence) = self.evidence.take() {
            evidence.finish()?;
        }
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
            sampled_ms: used.at_ms,
            requests: slice.requests().sum(),
            requests_begun_before: slice.begun_before,
            bytes: slice.bytes,
            lost_entries: slice.lost_entries,
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
            monitor_task_polls: used.task_polls,
            monitor_task_ns: used.task_ns,
            monitor_slow_task_polls: used.slow_task_polls,
            monitor_scheduled_ns: used.scheduled_ns,
            runtime_busy_ns: used.runtime_busy_ns,
            runtime_parks: used.runtime_parks,
        }
    }
}
