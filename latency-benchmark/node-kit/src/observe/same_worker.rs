//! Wakes a co-tenant that waits behind a connection. A worker that is about to poll a connection wakes it, as a connection
//! wakes the task for which it has a message. So tokio queues the co-tenant on that worker.

use std::future::poll_fn;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use node_ab::slices::cotenant::{PAUSE_NS, WakeReceiver, WakeSender, wake_channel};
use poll_probe::{RecordClock, locked};

use crate::tasks::stack_task::StackTask;

pub(crate) struct SameWorker {
    clock: RecordClock,
    due_ns: AtomicU64,
    sender: Mutex<WakeSender>,
}

impl SameWorker {
    pub(crate) fn new(clock: RecordClock) -> (Arc<SameWorker>, WakeReceiver) {
        let (sender, receiver) = wake_channel(clock.clone());
        let same_worker = SameWorker {
            clock,
            due_ns: AtomicU64::new(0),
            sender: Mutex::new(sender),
        };
        (Arc::new(same_worker), receiver)
    }

    /// Wraps the task of a connection. Before some of its polls, the co-tenant is woken.
    pub(crate) fn around(self: &Arc<Self>, mut task: StackTask) -> StackTask {
        let this = Arc::clone(self);
        Box::pin(poll_fn(move |cx| {
            this.wake_if_due();
            task.as_mut().poll(cx)
        }))
    }

    /// Wakes the co-tenant if that is due, even if the last wake-up was not answered. The pauses depend on the last digits of
    /// the time, which are as good as random.
    fn wake_if_due(&self) {
        let (now_ns, due_ns) = (self.clock.now_ns(), self.due_ns.load(Relaxed));
        let next_ns = now_ns + PAUSE_NS.start + now_ns % (PAUSE_NS.end - PAUSE_NS.start);
        let set = |next_ns| {
            self.due_ns
                .compare_exchange(due_ns, next_ns, Relaxed, Relaxed)
        };
        if now_ns >= due_ns && set(next_ns).is_ok() {
            locked(&self.sender).wake();
        }
    }
}
