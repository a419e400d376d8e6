//! The co-tenants of central: another thread wakes one, a timer the other, and with several workers a connection wakes a
//! third.

use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use node_ab::slices::cotenant::{Cotenant, PAUSE_NS, WakeReceiver, answering, timer, woken};
use poll_probe::Recorder;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use run_format::{Cores, HistogramOf};

use super::process::spawn_on;

/// Starts the tasks on the runtime around, and the thread that wakes one of them, on `cores`.
pub(crate) fn start(
    clock: &Arc<Recorder>,
    cores: &Cores,
    seed: u64,
    same_worker: Option<WakeReceiver>,
) -> io::Result<Vec<Cotenant>> {
    let (mut bell, wake) = woken(clock);
    let timer = timer(clock, seed);
    let same_worker =
        same_worker.map(|rung| answering(HistogramOf::CotenantSameWorker, rung, clock));
    let clock = Arc::clone(clock);
    // Off central's core, where it would wait for what it is to disturb. It rings at random, so as not to keep step with
    // anything.
    spawn_on(cores, "bell", move || {
        let mut rng = StdRng::seed_from_u64(seed);
        loop {
            thread::sleep(Duration::from_nanos(rng.random_range(PAUSE_NS)));
            bell.ring(&clock);
        }
    })?;
    Ok([wake, timer].into_iter().chain(same_worker).collect())
}
