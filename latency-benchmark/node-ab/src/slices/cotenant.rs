//! Co-tenants are small tasks on the workers of the measured program that note how late they run, which is the harm that slow
//! polls do. A thread wakes one of them, and a timer another. With several workers, a connection wakes a third.
//!
//! A task that was woken waits while its worker does other work, and while its worker does not run at all because the
//! machine does something else. The second part is not caused by the application. So a wait is also measured by the
//! worker's own clock, which the waking thread reads from outside.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use poll_probe::{RecordClock, ThreadClock};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rtrb::{Consumer, Producer, RingBuffer};
use run_format::HistogramOf;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::slices::{Log, LogReader, new_log, ns};

/// How late a co-tenant ran.
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
/// `worker` that ran the task had no clock registered when the task was woken: its time is unknown.
fn longest_run_ns(now: &RanNs, since: &RanNs, worker: Option<usize>) -> Option<u64> {
    since[worker?]?;
    let pairs = now.iter().zip(since);
    let ran = pairs.filter_map(|(now, since)| Some((*now)?.saturating_sub((*since)?)));
    ran.max()
}

/// A wake-up of a co-tenant: its time, and how long each worker had run by then.
#[derive(Default)]
struct WakeUp {
    at_ns: u64,
    ran_ns: RanNs,
}

/// Tells a co-tenant that it was woken, and when.
pub struct WakeReceiver {
    notify: Arc<Notify>,
    wake_ups: Consumer<WakeUp>,
    workers: Arc<Workers>,
}

/// Wakes a co-tenant, from any thread.
pub struct WakeSender {
    notify: Arc<Notify>,
    wake_ups: Producer<WakeUp>,
    workers: Arc<Workers>,
    clock: RecordClock,
}

impl WakeSender {
    /// Wakes the co-tenant even if the last wake-up was not answered. A sender that waited for answers would wake less often
    /// just when answers are late.
    pub fn wake(&mut self) {
        let ran_ns = self.workers.ran_ns();
        let at_ns = self.clock.now_ns();
        // If the queue is full, thousands of wake-ups are unanswered, and one more adds nothing.
        if self.wake_ups.push(WakeUp { at_ns, ran_ns }).is_ok() {
            self.notify.notify_one();
        }
    }
}

/// A sender, and the receiver for the co-tenant that it wakes.
pub fn wake_channel(clock: RecordClock) -> (WakeSender, WakeReceiver) {
    let (producer, wake_ups) = RingBuffer::new(CAPACITY);
    let (notify, workers) = (Arc::new(Notify::new()), Arc::<Workers>::default());
    let receiver = WakeReceiver {
        notify: Arc::clone(&notify),
        wake_ups,
        workers: Arc::clone(&workers),
    };
    let sender = WakeSender {
        notify,
        wake_ups: producer,
        workers,
        clock,
    };
    (sender, receiver)
}

impl Cotenant {
    /// Starts a task on the current runtime that the returned sender wakes.
    pub fn with_sender(clock: RecordClock) -> (WakeSender, Cotenant) {
        let (sender, receiver) = wake_channel(clock.clone());
        let cotenant = Cotenant::with_receiver(HistogramOf::CotenantWake, receiver, clock);
        (sender, cotenant)
    }

    /// Starts a task on the current runtime that the sender of the receiver wakes.
    pub fn with_receiver(
        histogram: HistogramOf,
        receiver: WakeReceiver,
        clock: RecordClock,
    ) -> Cotenant {
        let (entries, delays) = new_log(CAPACITY);
        tokio::spawn(note_wake_ups(receiver, clock, entries));
        Cotenant { histogram, delays }
    }

    /// Starts a task on the current runtime that timers wake. The delays include up to a millisecond, the resolution of
    /// tokio's timers.
    pub fn on_timers(clock: RecordClock, seed: u64) -> Cotenant {
        let (entries, delays) = new_log(CAPACITY);
        tokio::spawn(note_timers(clock, entries, seed));
        Cotenant {
            histogram: HistogramOf::CotenantTimer,
            delays,
        }
    }
}

impl Drop for WakeSender {
    /// Wakes the co-tenant so that it ends.
    fn drop(&mut self) {
        self.notify.notify_one();
    }
}

/// Notes a delay for every wake-up, even if several are answered at once. Ends when nobody reads the delays any more.
async fn note_wake_ups(mut receiver: WakeReceiver, clock: RecordClock, mut log: Log<Delay>) {
    while !log.is_abandoned() {
        receiver.notify.notified().await;
        let worker = receiver.workers.this_thread();
        let ran_ns = receiver.workers.ran_ns();
        while let Ok(wake_up) = receiver.wake_ups.pop() {
            let own_ns = longest_run_ns(&ran_ns, &wake_up.ran_ns, worker);
            log.note(delay(&clock, wake_up.at_ns, own_ns));
        }
    }
}

/// Notes how late each timer is. The deadlines do not depend on when earlier ones were met. Ends when nobody reads the delays
/// any more.
async fn note_timers(clock: RecordClock, mut log: Log<Delay>, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed ^ 1);
    let (origin, origin_ns) = (Instant::now(), clock.now_ns());
    let mut due = Duration::ZERO;
    while !log.is_abandoned() {
        due += Duration::from_micros(rng.random_range(1000..3000));
        sleep_until(origin + due).await;
        log.note(delay(&clock, origin_ns + ns(due), None));
    }
}

fn delay(clock: &RecordClock, since_ns: u64, own_ns: Option<u64>) -> Delay {
    let wall_ns = clock.now_ns().saturating_sub(since_ns);
    Delay {
        since_ns,
        wall_ns,
        own_ns: own_ns.map(|own_ns| own_ns.min(wall_ns)),
    }
}
