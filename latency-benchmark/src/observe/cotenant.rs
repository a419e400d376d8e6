//! The harm that slow polls do: two small tasks on central's worker, one that another thread wakes
//! and one that waits for a timer, note how late they run.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use lab::Cores;
use poll_probe::Recorder;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::log::{Log, LogReader, log};

/// How late a co-tenant ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay {
    pub(crate) at_ns: u64,
    pub(crate) delay_ns: u64,
}

/// What the two tasks note.
pub(crate) struct Cotenants {
    /// From a wake by another thread to the task's poll.
    pub(crate) wake: LogReader<Delay>,
    /// From a timer's deadline to the task's poll. Tokio's timers are a millisecond coarse, which is
    /// in here.
    pub(crate) timer: LogReader<Delay>,
}

/// More than a second's worth.
const CAPACITY: usize = 1 << 14;

/// Starts both tasks on the runtime around, and the thread that wakes one of them, on `cores`.
pub(crate) fn start(clock: &Arc<Recorder>, cores: &Cores, seed: u64) -> io::Result<Cotenants> {
    let (wakes, wake) = log(CAPACITY);
    let (timers, timer) = log(CAPACITY);
    let bell = Arc::new(Bell::default());
    tokio::spawn(answer(Arc::clone(&bell), Arc::clone(clock), wakes));
    tokio::spawn(wait(Arc::clone(clock), timers, seed));
    let (clock, cores) = (Arc::clone(clock), cores.clone());
    thread::Builder::new()
        .name("bell".to_owned())
        .spawn(move || {
            // Off central's core, where it would wait for what it is to disturb.
            if let Err(error) = super::process::move_to(&cores) {
                eprintln!("warning: the waking thread stays on central's core: {error}");
            }
            bell.ring(&clock, seed);
        })?;
    Ok(Cotenants { wake, timer })
}

#[derive(Default)]
struct Bell {
    /// When it was rung; 0 if that was answered.
    rung_ns: AtomicU64,
    notify: Notify,
}

impl Bell {
    /// Rings at random, so as not to keep step with anything, and not before the last was answered.
    fn ring(&self, clock: &Recorder, seed: u64) {
        let mut rng = StdRng::seed_from_u64(seed);
        loop {
            thread::sleep(Duration::from_micros(rng.random_range(300..1300)));
            if self.rung_ns.load(Ordering::Acquire) == 0 {
                self.rung_ns.store(clock.now_ns(), Ordering::Release);
                self.notify.notify_one();
            }
        }
    }
}

async fn answer(bell: Arc<Bell>, clock: Arc<Recorder>, mut log: Log<Delay>) {
    loop {
        bell.notify.notified().await;
        let rung_ns = bell.rung_ns.swap(0, Ordering::AcqRel);
        if rung_ns != 0 {
            log.note(delay(&clock, rung_ns));
        }
    }
}

async fn wait(clock: Arc<Recorder>, mut log: Log<Delay>, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed ^ 1);
    loop {
        let wait = Duration::from_micros(rng.random_range(1000..3000));
        let due_ns = clock.now_ns() + wait.as_nanos() as u64;
        sleep_until(Instant::now() + wait).await;
        log.note(delay(&clock, due_ns));
    }
}

fn delay(clock: &Recorder, since_ns: u64) -> Delay {
    let at_ns = clock.now_ns();
    Delay {
        at_ns,
        delay_ns: at_ns.saturating_sub(since_ns),
    }
}
