//! Takes turns between two ways of having transactions inside one process, in blocks of random order, and
//! cuts a slice out of each turn.

use std::{
    sync::mpsc::{Receiver, TryRecvError},
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};

use super::{BlockDone, Measured, Task};
use crate::{
    node::beside_tcp::{AtWork, Way},
    observe::{
        process::{self, NetworkTrouble, Subject, Usage, both},
        slice::histogram,
    },
    store::{
        rows::Stop,
        rr::{RrRow, RrWriter},
    },
};

/// Measures until the time is up. A message on `stop`, or the end of it, means enough.
pub(crate) fn measure(
    at_work: AtWork,
    task: &Task<'_>,
    writer: RrWriter,
    stop: &Receiver<()>,
    mut tell: impl FnMut(BlockDone),
) -> Result<Measured> {
    let (_, helpers) = process::other_threads(&at_work.workers)?;
    let peers = task.others.peers.iter().copied().map(Subject::Process);
    let mut measuring = Measuring {
        at_work,
        helpers,
        peers: peers.collect(),
        task: *task,
        writer,
        stop,
        slices: 0,
        planned: Duration::ZERO,
        last_answer: Instant::now(),
        sums: vec![(0, 0.0); task.variants.len()],
    };
    let mut rng = StdRng::seed_from_u64(task.seed);
    for way in [Way::RawTcp, Way::Libp2p] {
        measuring.warm_up(way)?;
    }
    let started = Instant::now();
    let mut blocks = 0;
    let stop = loop {
        if !measuring.block(blocks + 1, &mut rng)? {
            break Stop::Interrupted;
        }
        blocks += 1;
        tell(measuring.block_done(blocks));
        // A block that would end after the time is up is not begun.
        let next = task.plan.pass(task.variants.len());
        if started.elapsed() + next > Duration::from_millis(task.plan.max_ms) {
            break Stop::Cap;
        }
    };
    measuring.end_turn()?;
    measuring.writer.finish()?;
    Ok(Measured {
        stop,
        blocks,
        planned: measuring.planned,
    })
}

struct Measuring<'a> {
    at_work: AtWork,
    helpers: Vec<Subject>,
    peers: Vec<Subject>,
    task: Task<'a>,
    writer: RrWriter,
    stop: &'a Receiver<()>,
    slices: u32,
    planned: Duration,
    last_answer: Instant,
    /// Transactions and seconds, by variant.
    sums: Vec<(u64, f64)>,
}

/// What was seen in a slice. A transaction belongs to the one in which it was over.
struct Seen {
    way: Way,
    start_ns: u64,
    latency_ns: Histogram<u64>,
    by_peer: Vec<u64>,
    of_other_way: u64,
    lost: u64,
}

/// Sums since the start, or the differences between two.
struct Sums {
    at_ns: u64,
    central: Usage,
    helpers: Usage,
    peers: Usage,
    steal_ms: Option<f64>,
    central_network: NetworkTrouble,
    peers_network: NetworkTrouble,
    received_bytes: Option<u64>,
    sent_bytes: Option<u64>,
    libp2p_polls: u64,
}

impl Measuring<'_> {
    /// Until every peer has answered, and at least half of the time that there is for both ways.
    fn warm_up(&mut self, way: Way) -> Result<()> {
        const PATIENCE: Duration = Duration::from_secs(60);
        const LOOK: Duration = Duration::from_millis(20);
        self.end_turn()?;
        self.at_work.turns.give(Some(way));
        let began = Instant::now();
        let mut seen = self.open(way);
        let time = Duration::from_millis(self.task.plan.warm_up_ms) / 2;
        self.planned += time;
        self.sleep_until(began + time, &mut seen);
        while let Some(silent) = seen.by_peer.iter().position(|count| *count == 0)
            && !self.is_stopped_now()
        {
            if began.elapsed() > PATIENCE {
                bail!(
                    "peer {} answered nothing within {} s ({})",
                    silent + 1,
                    PATIENCE.as_secs(),
                    way.name()
                );
            }
            self.sleep_until(Instant::now() + LOOK, &mut seen);
        }
        self.last_answer = Instant::now();
        Ok(())
    }

    /// A slice of every variant, in random order. Returns whether it got through.
    fn block(&mut self, block: u32, rng: &mut StdRng) -> Result<bool> {
        let mut turns: Vec<usize> = (0..self.task.variants.len()).collect();
        turns.shuffle(rng);
        for variant in turns {
            if self.is_stopped_now() {
                return Ok(false);
            }
            self.slice(block, variant)?;
        }
        Ok(true)
    }

    fn slice(&mut self, block: u32, variant: usize) -> Result<()> {
        let way = Way::of(self.task.variants[variant].role);
        self.end_turn()?;
        self.at_work.turns.give(Some(way));
        let settling = Duration::from_millis(self.task.plan.settle_ms);
        let mut forgotten = self.open(way);
        self.sleep_until(Instant::now() + settling, &mut forgotten);

        let before = self.sums();
        let mut seen = self.open(way);
        let time = Duration::from_millis(self.task.plan.slice_ms);
        self.sleep_until(Instant::now() + time, &mut seen);
        let end_ns = self.at_work.clock.now_ns();
        let used = self.sums().since(&before);
        self.planned += settling + time;
        // What was over in time may have been noted since the buffer was last looked at.
        self.end_turn_into(&mut seen, end_ns)?;
        self.refuse_silence(&seen)?;

        let duration_ns = end_ns - seen.start_ns;
        let sum = &mut self.sums[variant];
        *sum = (
            sum.0 + seen.latency_ns.len(),
            sum.1 + duration_ns as f64 / 1e9,
        );
        self.slices += 1;
        let row = self.row(block, variant, &seen, duration_ns, &used);
        self.writer.write(&row, &seen.latency_ns)
    }

    /// Nobody's turn, and every transaction is over.
    fn end_turn(&mut self) -> Result<()> {
        let mut forgotten = self.open(Way::RawTcp);
        self.end_turn_into(&mut forgotten, u64::MAX)
    }

    fn end_turn_into(&mut self, seen: &mut Seen, end_ns: u64) -> Result<()> {
        const PATIENCE: Duration = Duration::from_secs(10);
        const LOOK: Duration = Duration::from_millis(1);
        self.at_work.turns.give(None);
        let began = Instant::now();
        while !self.at_work.turns.are_over() {
            if began.elapsed() > PATIENCE.max(4 * Duration::from_millis(self.task.plan.slice_ms)) {
                bail!(
                    "a transaction was not over {:.0} s after its turn",
                    began.elapsed().as_secs_f64()
                );
            }
            std::thread::sleep(LOOK);
        }
        self.collect(seen, end_ns);
        Ok(())
    }

    fn open(&self, way: Way) -> Seen {
        Seen {
            way,
            start_ns: self.at_work.clock.now_ns(),
            latency_ns: histogram(),
            by_peer: vec![0; self.task.peers],
            of_other_way: 0,
            lost: 0,
        }
    }

    /// Empties the buffer before it is full.
    fn sleep_until(&mut self, end: Instant, seen: &mut Seen) {
        const BUFFER_LASTS: Duration = Duration::from_millis(50);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(BUFFER_LASTS));
            self.collect(seen, u64::MAX);
            if Instant::now() >= end {
                return;
            }
        }
    }

    fn collect(&mut self, seen: &mut Seen, end_ns: u64) {
        let window = seen.start_ns..end_ns;
        seen.lost += self.at_work.transactions.drain(|over| {
            if !window.contains(&over.at_ns) {
                return;
            }
            if over.way == seen.way {
                seen.latency_ns.saturating_record(over.latency_ns);
                seen.by_peer[over.peer] += 1;
            } else {
                seen.of_other_way += 1;
            }
        });
    }

    /// Slices in which nothing happens are not a measurement of anything.
    fn refuse_silence(&mut self, seen: &Seen) -> Result<()> {
        const PATIENCE: Duration = Duration::from_secs(10);
        if !seen.latency_ns.is_empty() {
            self.last_answer = Instant::now();
        }
        let silence = self.last_answer.elapsed();
        if silence > PATIENCE.max(4 * Duration::from_millis(self.task.plan.slice_ms)) {
            bail!(
                "no peer has answered anything for {:.0} s",
                silence.as_secs_f64()
            );
        }
        Ok(())
    }

    fn is_stopped_now(&self) -> bool {
        !matches!(self.stop.try_recv(), Err(TryRecvError::Empty))
    }

    fn sums(&self) -> Sums {
        let (received_bytes, sent_bytes) = process::link_bytes();
        Sums {
            at_ns: self.at_work.clock.now_ns(),
            central: process::total(&self.at_work.workers),
            helpers: process::total(&self.helpers),
            peers: match self.peers.as_slice() {
                [] => Usage::default(),
                peers => process::total(peers),
            },
            steal_ms: process::steal_ms(),
            central_network: process::network_trouble(&self.at_work.workers[..1]),
            peers_network: process::network_trouble(&self.peers),
            received_bytes,
            sent_bytes,
            libp2p_polls: self
                .at_work
                .libp2p_polls
                .load(std::sync::atomic::Ordering::Relaxed),
        }
    }

    fn row(&self, block: u32, variant: usize, seen: &Seen, duration_ns: u64, used: &Sums) -> RrRow {
        RrRow {
            slice: self.slices,
            block,
            variant,
            way: seen.way,
            start_ms: seen.start_ns as f64 / 1e6,
            duration_ms: duration_ns as f64 / 1e6,
            sampled_ms: used.at_ns as f64 / 1e6,
            transactions: seen.latency_ns.len(),
            other_way_transactions: seen.of_other_way,
            lost_entries: seen.lost,
            central_cpu_ns: used.central.cpu_ns,
            central_runqueue_ns: used.central.runqueue_ns,
            central_user_ms: used.central.user_ms,
            central_system_ms: used.central.system_ms,
            central_voluntary_switches: used.central.voluntary_switches,
            central_involuntary_switches: used.central.involuntary_switches,
            helpers_cpu_ns: used.helpers.cpu_ns,
            peers_user_ms: used.peers.user_ms,
            peers_system_ms: used.peers.system_ms,
            steal_ms: used.steal_ms,
            central_tcp_retransmits: used.central_network.retransmits,
            peers_tcp_retransmits: used.peers_network.retransmits,
            central_received_bytes: used.received_bytes,
            central_sent_bytes: used.sent_bytes,
            libp2p_polls: used.libp2p_polls,
        }
    }

    fn block_done(&self, block: u32) -> BlockDone {
        let rate =
            |(count, seconds): &(u64, f64)| (*seconds > 0.0).then(|| *count as f64 / seconds);
        BlockDone {
            block,
            slow_percent: Vec::new(),
            margin_percent: Vec::new(),
            requests_per_s: self.sums.iter().map(rate).collect(),
        }
    }
}

impl Sums {
    fn since(&self, before: &Sums) -> Sums {
        Sums {
            at_ns: self.at_ns - before.at_ns,
            central: self.central.since(before.central),
            helpers: self.helpers.since(before.helpers),
            peers: self.peers.since(before.peers),
            steal_ms: both(self.steal_ms, before.steal_ms, |after, before| {
                after - before
            }),
            central_network: self.central_network.since(before.central_network),
            peers_network: self.peers_network.since(before.peers_network),
            received_bytes: both(
                self.received_bytes,
                before.received_bytes,
                u64::saturating_sub,
            ),
            sent_bytes: both(self.sent_bytes, before.sent_bytes, u64::saturating_sub),
            libp2p_polls: self.libp2p_polls - before.libp2p_polls,
        }
    }
}
