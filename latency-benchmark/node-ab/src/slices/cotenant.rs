//! Co-tenants are small tasks on central's workers that note how late they run, which is the harm that slow polls do. A thread
//! wakes one of them, and a timer another. With several workers, a connection wakes a third.
//!
//! A task that was woken waits while its worker does other work, and while its worker does not run at all because the
//! machine does something else. The second part is not caused by the application. So a wait is also measured by the
//! worker's own clock, which the waking thread reads from outside.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use poll_probe::{Recorder, ThreadClock};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rtrb::{Consumer, Producer, RingBuffer};
use run_format::HistogramOf;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::slices::{Log, LogReader, log, ns};

#[derive(Clone, Copy, Debug, Default)]
pub struct Delay {
    /// The time at which the task should have run.
    pub since_ns: u64,
    pub wall_ns: u64,
    /// The time that the worker ran in this delay. A timer's delay has none, because nobody reads the clock when the timer is
    /// due.
    pub own_ns: Option<u64>,
}

/// A co-tenant at work.
pub struct Cotenant {
    /// The histogram that gets its delays.
    pub histogram: HistogramOf,
    pub delays: LogReader<Delay>,
}

/// Room for the entries of more than a second.
const CAPACITY: usize = 1 << 14;

pub const PAUSE_NS: Range<u64> = 500_000..1_500_000;

/// The clocks of the threads on which a co-tenant has answered.
#[derive(Default)]
struct Workers([OnceLock<ThreadClock>; Workers::MOST]);

/// The time that each worker has run. A place without a worker has None.
type RanNs = [Option<u64>; Workers::MOST];

impl Workers {
    /// Only the first eight workers that answer are measured by their own clocks.
    const MOST: usize = 8;

    /// The place of the current thread. A thread without a place takes the first free one.
    fn this_thread(&self) -> Option<usize> {
        let clock = ThreadClock::for_this_thread()?;
        let mut known = self.0.iter();
        known.position(|place| *place.get_or_init(|| clock) == clock)
    }

    fn ran_ns(&self) -> RanNs {
        std::array::from_fn(|worker| self.0[worker].get()?.ran_ns())
    }
}

/// The longest time that one worker has run from `since` to `now`, because any of them could have run the task. None if the
/// `worker` that ran it was unknown when the bell rang, because the task may have waited for that one.
fn longest_run_ns(now: &RanNs, since: &RanNs, worker: Option<usize>) -> Option<u64> {
    since[worker?]?;
    let pairs = now.iter().zip(since);
    let ran = pairs.filter_map(|(now, since)| Some((*now)?.saturating_sub((*since)?)));
    ran.max()
}

/// One ring of a bell: when it rang, and how long each worker had run by then.
#[derive(Default)]
struct Ring {
    at_ns: u64,
    ran_ns: RanNs,
}

/// Tells a co-tenant that it was woken, and when.
pub struct WakeReceiver {
    bell: Arc<Notify>,
    rings: Consumer<Ring>,
    workers: Arc<Workers>,
}

/// Wakes a co-tenant, from any thread.
pub struct Bell {
    bell: Arc<Notify>,
    rings: Producer<Ring>,
    workers: Arc<Workers>,
}

impl Bell {
    /// Rings even if the last ring was not answered. A bell that waited for answers would ring less often just when answers are
    /// late.
    pub fn ring(&mut self, clock: &Recorder) {
        let ran_ns = self.workers.ran_ns();
        let at_ns = clock.now_ns();
        // If the queue is full, thousands of rings are unanswered, and one more adds nothing.
        if self.rings.push(Ring { at_ns, ran_ns }).is_ok() {
            self.bell.notify_one();
        }
    }
}

/// A bell, and the receiver for the co-tenant that it wakes.
pub fn bell() -> (Bell, WakeReceiver) {
    let (sender, rings) = RingBuffer::new(CAPACITY);
    let (bell, workers) = (Arc::new(Notify::new()), Arc::<Workers>::default());
    let receiver = WakeReceiver {
        bell: Arc::clone(&bell),
        rings,
        workers: Arc::clone(&workers),
    };
    let bell = Bell {
        bell,
        rings: sender,
        workers,
    };
    (bell, receiver)
}

impl Cotenant {
    /// Starts a task on the current runtime that a new bell wakes.
    pub fn with_bell(clock: &Arc<Recorder>) -> (Bell, Cotenant) {
        let (bell, wakes) = bell();
        let cotenant = Cotenant::on_rings(HistogramOf::CotenantWake, wakes, clock);
        (bell, cotenant)
    }

    /// Starts a task on the current runtime that the bell of the receiver wakes.
    pub fn on_rings(
        histogram: HistogramOf,
        wakes: WakeReceiver,
        clock: &Arc<Recorder>,
    ) -> Cotenant {
        let (log, delays) = log(CAPACITY);
        tokio::spawn(note_rings(wakes, Arc::clone(clock), log));
        Cotenant { histogram, delays }
    }

    /// Starts a task on the current runtime that timers wake. The delays include up to a millisecond, the resolution of
    /// tokio's timers.
    pub fn on_timers(clock: &Arc<Recorder>, seed: u64) -> Cotenant {
        let (log, delays) = log(CAPACITY);
        tokio::spawn(note_timers(Arc::clone(clock), log, seed));
        Cotenant {
            histogram: HistogramOf::CotenantTimer,
            delays,
        }
    }
}

impl Drop for Bell {
    /// Wakes the co-tenant so that it ends.
    fn drop(&mut self) {
        self.bell.notify_one();
    }
}

/// Notes a delay for every ring, even if several are answered at once. Ends when nobody reads the delays any more.
async fn note_rings(mut wakes: WakeReceiver, clock: Arc<Recorder>, mut log: Log<Delay>) {
    while !log.is_abandoned() {
        wakes.bell.notified().await;
        let worker = wakes.workers.this_thread();
        let ran_ns = wakes.workers.ran_ns();
        while let Ok(ring) = wakes.rings.pop() {
            let own_ns = longest_run_ns(&ran_ns, &ring.ran_ns, worker);
            log.note(delay(&clock, ring.at_ns, own_ns));
        }
    }
}

/// Notes how late each timer is. The deadlines do not depend on when earlier ones were met. Ends when nobody reads the delays
/// any more.
async fn note_timers(clock: Arc<Recorder>, mut log: Log<Delay>, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed ^ 1);
    let (origin, origin_ns) = (Instant::now(), clock.now_ns());
    let mut due = Duration::ZERO;
    while !log.is_abandoned() {
        due += Duration::from_micros(rng.random_range(1000..3000));
        sleep_until(origin + due).await;
        log.note(delay(&clock, origin_ns + ns(due), None));
    }
}

fn delay(clock: &Recorder, since_ns: u64, own_ns: Option<u64>) -> Delay {
    let wall_ns = clock.now_ns().saturating_sub(since_ns);
    Delay {
        since_ns,
        wall_ns,
        own_ns: own_ns.map(|own_ns| own_ns.min(wall_ns)),
    }
}
