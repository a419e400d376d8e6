//! Central's tasks, whose polls and wakes are noticed.

use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use node_kit::locked;

use super::counting::{Counting, count_wake};

pub(super) struct Watched<F> {
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

impl<F> Watched<F> {
    pub(super) fn new(task: F, counting: &Arc<Mutex<Counting>>) -> Watched<F> {
        Watched {
            task,
            counting: Arc::clone(counting),
            waker: None,
        }
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

/// Callgrind counts what this calls: see `--toggle-collect` in the tool.
#[inline(never)]
fn poll_of_central(poll: impl FnOnce()) {
    poll();
    std::hint::black_box(());
}
