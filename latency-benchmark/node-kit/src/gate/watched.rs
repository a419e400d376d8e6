//! Central's tasks, whose polls and wakes are noticed.

use std::os::unix::process::parent_id;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use anyhow::Error;

use super::counting::{Counting, count_wake};
use crate::stack_task::{StackTask, locked};

/// Counts what the tasks do that it watches: central's.
#[derive(Clone)]
pub struct Watcher(pub(super) Arc<Mutex<Counting>>);

impl Watcher {
    /// Starts a task of central.
    pub fn spawn(&self, task: StackTask) {
        tokio::spawn(self.watch(task));
    }

    /// The same task, but watched.
    pub fn watch<F>(&self, task: F) -> Watched<F> {
        Watched {
            task,
            counting: Arc::clone(&self.0),
            waker: None,
        }
    }

    /// Ends the run with an error.
    pub fn end(&self, error: Error) {
        locked(&self.0).end_with(Err(error));
    }
}

/// A task of central.
pub struct Watched<F> {
    task: F,
    counting: Arc<Mutex<Counting>>,
    /// Made once for each waker that the task is polled with, which as a rule is one.
    waker: Option<(Arc<Noticing>, Waker)>,
}

struct Noticing {
    to: Waker,
    is_woken: AtomicBool,
}

impl Wake for Noticing {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        count_wake(self.is_woken.swap(true, Relaxed));
        self.to.wake_by_ref();
    }
}

impl<F: Future + Unpin> Future for Watched<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        let (noticing, waker) = match this.waker.take() {
            Some(made) if made.0.to.will_wake(cx.waker()) => made,
            _ => {
                let noticing = Arc::new(Noticing {
                    to: cx.waker().clone(),
                    is_woken: AtomicBool::new(false),
                });
                (Arc::clone(&noticing), Waker::from(noticing))
            }
        };
        noticing.is_woken.store(false, Relaxed);
        let mut polled = Poll::Pending;
        let task = &mut this.task;
        let poll = || polled = Pin::new(task).poll(&mut Context::from_waker(&waker));
        let is_counted = locked(&this.counting).begin();
        match is_counted {
            true => poll_of_central(poll),
            false => poll(),
        }
        locked(&this.counting).end();
        this.waker = Some((noticing, waker));
        polled
    }
}

/// Callgrind counts the instructions of this function and of what it calls: see `--toggle-collect` in the tool. strace
/// shows which system calls are made between the two calls of `getppid`.
#[inline(never)]
fn poll_of_central(poll: impl FnOnce()) {
    let _ = parent_id();
    poll();
    let _ = parent_id();
}
