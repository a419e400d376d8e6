//! The harm that slow polls do: small tasks on central's workers note how late they run. Another thread wakes one, a
//! timer the other, and with several workers a connection wakes a third.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use poll_probe::Recorder;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rtrb::{Consumer, Producer, RingBuffer};
use run_format::HistogramOf;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::{Log, LogReader, log};

#[derive(Clone, Copy, Debug, Default)]
pub struct Delay {
    /// When it should have.
    pub since_ns: u64,
    pub delay_ns: u64,
}

pub type Cotenant = (HistogramOf, LogReader<Delay>);

/// More than a second's worth.
const CAPACITY: usize = 1 << 14;

/// How a co-tenant learns that it was woken, and when.
pub type WakeReceiver = (Arc<Notify>, Consumer<u64>);

pub const PAUSE_NS: Range<u64> = 500_000..1_500_000;

/// Wakes a co-tenant, from any thread.
pub struct Bell {
    bell: Arc<Notify>,
    ringing: Producer<u64>,
}

impl Bell {
    /// Whether or not the ring before was answered: who waits for an answer rings less often just when answers are late.
    pub fn ring(&mut self, clock: &Recorder) {
        // With so many unanswered that there is no room, one more tells nothing new.
        if self.ringing.push(clock.now_ns()).is_ok() {
            self.bell.notify_one();
        }
    }
}

/// A bell, and what the co-tenant that it wakes gets.
pub fn bell() -> (Bell, WakeReceiver) {
    let (ringing, rung) = RingBuffer::new(CAPACITY);
    let bell = Arc::new(Notify::new());
    let receiver = (Arc::clone(&bell), rung);
    (Bell { bell, ringing }, receiver)
}

/// Starts a task on the runtime around that the bell wakes.
pub fn woken(clock: &Arc<Recorder>) -> (Bell, Cotenant) {
    let (bell, rung) = bell();
    (bell, answering(HistogramOf::CotenantWake, rung, clock))
}

/// Starts a task on the runtime around that answers.
pub fn answering(of: HistogramOf, (bell, rung): WakeReceiver, clock: &Arc<Recorder>) -> Cotenant {
    let (wakes, wake) = log(CAPACITY);
    tokio::spawn(answer(bell, rung, Arc::clone(clock), wakes));
    (of, wake)
}

/// Starts a task on the runtime around that a timer wakes. Tokio's timers are a millisecond coarse, which is in its delays.
pub fn timer(clock: &Arc<Recorder>, seed: u64) -> Cotenant {
    let (timers, timer) = log(CAPACITY);
    tokio::spawn(wait(Arc::clone(clock), timers, seed));
    (HistogramOf::CotenantTimer, timer)
}

impl Drop for Bell {
    /// Who waits for it notices that it is gone.
    fn drop(&mut self) {
        self.bell.notify_one();
    }
}

/// Every ring has a delay, also when several are answered at once. Ends when nobody reads the delays any more.
async fn answer(
    bell: Arc<Notify>,
    mut rung: Consumer<u64>,
    clock: Arc<Recorder>,
    mut log: Log<Delay>,
) {
    while !log.is_abandoned() {
        bell.notified().await;
        while let Ok(since_ns) = rung.pop() {
            log.note(delay(&clock, since_ns));
        }
    }
}

/// The deadlines are set without regard to when the ones before were met. Ends when nobody reads the delays any more.
async fn wait(clock: Arc<Recorder>, mut log: Log<Delay>, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed ^ 1);
    let (origin, origin_ns) = (Instant::now(), clock.now_ns());
    let mut due = Duration::ZERO;
    while !log.is_abandoned() {
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
