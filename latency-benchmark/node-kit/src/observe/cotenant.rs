//! The harm that slow polls do: small tasks on central's workers note how late they run. Another thread wakes one, a
//! timer the other, and with several workers a connection wakes a third.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use poll_probe::Recorder;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rtrb::{Consumer, Producer, RingBuffer};
use run_format::histogram_tag::HistogramOf;
use run_format::network::Cores;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::log::{Log, LogReader, log};
use super::process::spawn_on;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delay {
    /// When it should have.
    pub(crate) since_ns: u64,
    pub(crate) delay_ns: u64,
}

/// What a co-tenant noted.
pub(crate) type Cotenant = (HistogramOf, LogReader<Delay>);

/// More than a second's worth.
pub(super) const CAPACITY: usize = 1 << 14;

/// How a co-tenant learns that it was woken, and when.
pub(crate) type WakeReceiver = (Arc<Notify>, Consumer<u64>);

/// Between two wakes.
pub(super) const PAUSE_NS: Range<u64> = 500_000..1_500_000;

/// Starts the tasks on the runtime around, and the thread that wakes one of them, on `cores`.
pub(crate) fn start(
    clock: &Arc<Recorder>,
    cores: &Cores,
    seed: u64,
    same_worker: Option<WakeReceiver>,
) -> io::Result<Vec<Cotenant>> {
    let answering = |(bell, rung): WakeReceiver| {
        let (wakes, wake) = log(CAPACITY);
        tokio::spawn(answer(bell, rung, Arc::clone(clock), wakes));
        wake
    };
    let (ringing, rung) = RingBuffer::new(CAPACITY);
    let bell = Arc::new(Notify::new());
    let wake = answering((Arc::clone(&bell), rung));
    let (timers, timer) = log(CAPACITY);
    tokio::spawn(wait(Arc::clone(clock), timers, seed));
    // Tokio's timers are a millisecond coarse, which is in their delays.
    let cotenants = [
        (HistogramOf::CotenantWake, wake),
        (HistogramOf::CotenantTimer, timer),
    ];
    let same_worker = same_worker.map(|it| (HistogramOf::CotenantSameWorker, answering(it)));
    let clock = Arc::clone(clock);
    // Off central's core, where it would wait for what it is to disturb.
    spawn_on(cores, "bell", move || ring(&bell, ringing, &clock, seed))?;
    Ok(cotenants.into_iter().chain(same_worker).collect())
}

/// Rings at random, so as not to keep step with anything, and whether or not it was answered: who
/// waits for an answer rings less often just when answers are late.
fn ring(bell: &Notify, mut ringing: Producer<u64>, clock: &Recorder, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    loop {
        thread::sleep(Duration::from_nanos(rng.random_range(PAUSE_NS)));
        // With so many unanswered that there is no room, one more tells nothing new.
        if ringing.push(clock.now_ns()).is_ok() {
            bell.notify_one();
        }
    }
}

/// Every ring has a delay, also when several are answered at once.
async fn answer(
    bell: Arc<Notify>,
    mut rung: Consumer<u64>,
    clock: Arc<Recorder>,
    mut log: Log<Delay>,
) {
    loop {
        bell.notified().await;
        while let Ok(since_ns) = rung.pop() {
            log.note(delay(&clock, since_ns));
        }
    }
}

/// The deadlines are set without regard to when the ones before were met.
async fn wait(clock: Arc<Recorder>, mut log: Log<Delay>, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed ^ 1);
    let (origin, origin_ns) = (Instant::now(), clock.now_ns());
    let mut due = Duration::ZERO;
    loop {
        due += Duration::from_micros(rng.random_range(1000..3000));
        sleep_until(origin + due).await;
        let due_ns = u64::try_from(due.as_nanos()).unwrap_or(u64::MAX);
        log.note(delay(&clock, origin_ns + due_ns));
    }
}

fn delay(clock: &Recorder, since_ns: u64) -> Delay {
    Delay {
        since_ns,
        delay_ns: clock.now_ns().saturating_sub(since_ns),
    }
}
