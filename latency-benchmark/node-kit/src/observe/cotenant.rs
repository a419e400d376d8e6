//! Starts the co-tenants of central. A thread wakes one of them and a timer another. With several workers, a connection wakes
//! a third.

use std::time::Duration;
use std::{io, thread};

use node_ab::slices::cotenant::{Cotenant, PAUSE_NS, WakeReceiver};
use poll_probe::RecordClock;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use run_format::{Cores, HistogramOf};

use super::threads::spawn_on;

/// Starts the tasks on the current runtime, and on `cores` the thread that wakes one of them.
pub(crate) fn start(
    clock: RecordClock,
    cores: &Cores,
    seed: u64,
    same_worker: Option<WakeReceiver>,
) -> io::Result<Vec<Cotenant>> {
    let (mut sender, wake) = Cotenant::with_sender(clock.clone());
    let timer = Cotenant::on_timers(clock.clone(), seed);
    let same_worker = same_worker.map(|receiver| {
        Cotenant::with_receiver(HistogramOf::CotenantSameWorker, receiver, clock.clone())
    });
    // The thread is not on central's core, since central would delay it there. The pauses are random, so that they cannot
    // coincide with periodic work.
    spawn_on(cores, "wake", move || {
        let mut rng = StdRng::seed_from_u64(seed);
        loop {
            thread::sleep(Duration::from_nanos(rng.random_range(PAUSE_NS)));
            sender.wake();
        }
    })?;
    Ok([wake, timer].into_iter().chain(same_worker).collect())
}
