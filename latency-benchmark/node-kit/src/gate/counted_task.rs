//! Counts the polls and wakes of central's tasks.

use std::os::unix::process::parent_id;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use anyhow::Error;
use poll_probe::locked;

use super::counting::{Counting, count_wake};
use crate::tasks::noticing_waker::{NoticingWaker, WakeObserver};
use crate::tasks::stack_task::StackTask;

/// Counts the polls and wakes of central's tasks.
#[derive(Clone)]
pub struct TaskCounter(pub(super) Arc<Mutex<Counting>>);

impl TaskCounter {
    /// Starts a task of central.
    pub fn spawn(&self, task: StackTask) {
        tokio::spawn(self.around(task));
    }

    /// Wraps a task so that it is counted.
    pub fn around<F>(&self, task: F) -> CountedTask<F> {
        CountedTask {
            task,
            counting: Arc::clone(&self.0),
            waker: NoticingWaker::default(),
        }
    }

    /// Ends the run with an error.
    pub fn end(&self, error: Error) {
        locked(&self.0).end_with(Err(error));
    }
}

/// A task of central whose polls and wakes are counted.
pub struct CountedTask<F> {
    task: F,
    counting: Arc<Mutex<Counting>>,
    waker: NoticingWaker<IsWoken>,
}

/// Whether the task was woken since its last poll began. Then a further wake is superfluous.
#[derive(Default)]
struct IsWoken(AtomicBool);

impl WakeObserver for IsWoken {
    fn woken(&self) {
        count_wake(self.0.swap(true, Relaxed));
    }
}

impl<F: Future + Unpin> Future for CountedTask<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        let (is_woken, waker) = this.waker.around(cx.waker());
        is_woken.0.store(false, Relaxed);
        let mut polled = Poll::Pending;
        let task = &mut this.task;
        let poll = || polled = Pin::new(task).poll(&mut Context::from_waker(waker));
        let is_counted = locked(&this.counting).begin();
        match is_counted {
            true => poll_of_central(poll),
            false => poll(),
        }
        locked(&this.counting).end();
        polled
    }
}

/// Callgrind counts the instructions of this function and of the functions that it calls, because the tool names it with
/// `--toggle-collect`. In the output of strace, the two calls of `getppid` enclose the system calls of the poll.
#[inline(never)]
fn poll_of_central(poll: impl FnOnce()) {
    let _ = parent_id();
    poll();
    let _ = parent_id();
}
