//! A co-tenant that waits behind a connection. The worker that is about to poll a connection wakes it, as a connection
//! wakes the task that it has a message for. So tokio queues it on that worker.

use std::{
    future::poll_fn,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use poll_probe::Recorder;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rtrb::{Consumer, Producer, RingBuffer};
use tokio::sync::Notify;

use super::cotenant::{CAPACITY, PAUSE_NS};
use crate::central::StackTask;

/// Wakes it.
pub(crate) struct SameWorker {
    clock: Arc<Recorder>,
    due_ns: AtomicU64,
    bell: Arc<Notify>,
    ringing: Mutex<(Producer<u64>, StdRng)>,
}

/// How it learns that it was woken, and when.
pub(crate) struct Rung {
    pub(super) bell: Arc<Notify>,
    pub(super) since_ns: Consumer<u64>,
}

impl SameWorker {
    pub(crate) fn new(clock: &Arc<Recorder>, seed: u64) -> (Arc<SameWorker>, Rung) {
        let (ringing, since_ns) = RingBuffer::new(CAPACITY);
        let bell = Arc::new(Notify::new());
        let rung = Rung {
            bell: Arc::clone(&bell),
            since_ns,
        };
        let same_worker = SameWorker {
            clock: Arc::clone(clock),
            due_ns: AtomicU64::new(0),
            bell,
            ringing: Mutex::new((ringing, StdRng::seed_from_u64(seed ^ 2))),
        };
        (Arc::new(same_worker), rung)
    }

    /// The task of a connection, before some of whose polls the co-tenant is woken.
    pub(crate) fn around(self: &Arc<Self>, mut task: StackTask) -> StackTask {
        let this = Arc::clone(self);
        Box::pin(poll_fn(move |cx| {
            this.ring();
            task.as_mut().poll(cx)
        }))
    }

    /// At random times, whether or not it was answered.
    fn ring(&self) {
        let now_ns = self.clock.now_ns();
        let is_due = || now_ns >= self.due_ns.load(Ordering::Relaxed);
        if !is_due() {
            return;
        }
        // If another worker rings at this moment, that is enough.
        let Ok(mut ringing) = self.ringing.try_lock() else {
            return;
        };
        let (since_ns, rng) = &mut *ringing;
        if is_due() && since_ns.push(now_ns).is_ok() {
            let next_ns = now_ns + rng.random_range(PAUSE_NS);
            self.due_ns.store(next_ns, Ordering::Relaxed);
            drop(ringing);
            self.bell.notify_one();
        }
    }
}
