//! Counts polls in which a task wakes itself. Such a task is polled again at once. A task may do so now and then to let others
//! run. A task that does so in every poll never sleeps.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use crate::tasks::noticing_waker::{NoticingWaker, WakeObserver};

/// Counts polls during which a task was woken from the thread that polled it, while counting is on.
#[derive(Default)]
pub(crate) struct SelfWakeCounter {
    is_on: AtomicBool,
    polls: AtomicU64,
}

impl SelfWakeCounter {
    pub(crate) fn switch(&self, on: bool) {
        self.is_on.store(on, Ordering::Relaxed);
    }

    /// None while counting is off.
    pub(crate) fn polls(&self) -> Option<u64> {
        let is_on = self.is_on.load(Ordering::Relaxed);
        is_on.then(|| self.polls.load(Ordering::Relaxed))
    }

    pub(crate) fn around<F: Future + Unpin>(self: &Arc<Self>, future: F) -> SelfWakes<F> {
        SelfWakes {
            future,
            counter: Arc::clone(self),
            waker: NoticingWaker::default(),
        }
    }
}

/// A future whose wakes from within are counted. While its counter is off, a poll costs one load.
pub(crate) struct SelfWakes<F> {
    future: F,
    counter: Arc<SelfWakeCounter>,
    waker: NoticingWaker<IsWokenWithin>,
}

impl<F: Future + Unpin> Future for SelfWakes<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        if !this.counter.is_on.load(Ordering::Relaxed) {
            return Pin::new(&mut this.future).poll(cx);
        }
        let (is_woken, waker) = this.waker.around(cx.waker());
        is_woken.0.store(false, Ordering::Relaxed);
        let around = POLLED.replace(is_woken);
        let polled = Pin::new(&mut this.future).poll(&mut Context::from_waker(waker));
        POLLED.set(around);
        if is_woken.0.load(Ordering::Relaxed) {
            this.counter.polls.fetch_add(1, Ordering::Relaxed);
        }
        polled
    }
}

/// Whether the task was woken from within its poll. Only the thread that polls the task accesses it.
#[derive(Default)]
struct IsWokenWithin(AtomicBool);

thread_local! {
    /// Belongs to the watched future that this thread polls.
    static POLLED: Cell<*const IsWokenWithin> = const { Cell::new(ptr::null()) };
}

impl WakeObserver for IsWokenWithin {
    fn woken(&self) {
        if ptr::eq(POLLED.get(), self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::{Wake, Waker};
    use std::thread;

    use super::*;

    /// A task that counts how often it was woken.
    #[derive(Default)]
    struct Task(AtomicU64);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counter(is_on: bool) -> Arc<SelfWakeCounter> {
        let counter = Arc::<SelfWakeCounter>::default();
        counter.switch(is_on);
        counter
    }

    /// Polls a task once, with `within` wakes by the polling thread, `elsewhere` wakes by another thread, and `after` wakes
    /// after the poll. Returns how many wakes have arrived.
    fn poll_with_wakes(
        counter: &Arc<SelfWakeCounter>,
        within: u32,
        elsewhere: u32,
        after: u32,
    ) -> u64 {
        let task = Arc::new(Task::default());
        let mut seen: Option<Waker> = None;
        let future = poll_fn(|cx| {
            let waker = cx.waker();
            seen = Some(waker.clone());
            for _ in 0..within {
                waker.wake_by_ref();
            }
            thread::scope(|scope| {
                scope.spawn(|| (0..elsewhere).for_each(|_| waker.wake_by_ref()));
            });
            Poll::<()>::Pending
        });
        let waker = Waker::from(Arc::clone(&task));
        let polled = Pin::new(&mut counter.around(future)).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        let waker = seen.expect("it was polled");
        (0..after).for_each(|_| waker.wake_by_ref());
        task.0.load(Ordering::Relaxed)
    }

    #[test]
    fn only_wakes_from_within_the_poll_are_counted_and_every_wake_arrives() {
        let counter = counter(true);
        assert_eq!(poll_with_wakes(&counter, 0, 2, 3), 5);
        assert_eq!(counter.polls(), Some(0));
        assert_eq!(poll_with_wakes(&counter, 1, 0, 0), 1);
        assert_eq!(counter.polls(), Some(1));
        // A poll counts once, however often it wakes.
        assert_eq!(poll_with_wakes(&counter, 7, 1, 1), 9);
        assert_eq!(counter.polls(), Some(2));
    }

    #[test]
    fn while_it_is_switched_off_the_future_sees_the_waker_of_its_task() {
        let counter = counter(false);
        let waker = Waker::from(Arc::new(Task::default()));
        let mut is_same = Vec::new();
        let mut watched = counter.around(poll_fn(|cx| {
            cx.waker().wake_by_ref();
            is_same.push(cx.waker().will_wake(&waker));
            Poll::<()>::Pending
        }));
        for is_on in [false, true, false] {
            counter.switch(is_on);
            let _ = Pin::new(&mut watched).poll(&mut Context::from_waker(&waker));
        }
        drop(watched);
        assert_eq!(is_same, [true, false, true]);
        counter.switch(true);
        assert_eq!(counter.polls(), Some(1));
    }

    #[test]
    fn a_waker_is_made_once_for_each_that_the_task_is_polled_with() {
        let counter = counter(true);
        let (first, second) = (Arc::new(Task::default()), Arc::new(Task::default()));
        let mut seen: Vec<Waker> = Vec::new();
        let mut watched = counter.around(poll_fn(|cx| {
            seen.push(cx.waker().clone());
            Poll::<()>::Pending
        }));
        for task in [&first, &first, &second] {
            let waker = Waker::from(Arc::clone(task));
            let _ = Pin::new(&mut watched).poll(&mut Context::from_waker(&waker));
        }
        drop(watched);
        assert!(seen[0].will_wake(&seen[1]));
        assert!(!seen[1].will_wake(&seen[2]));
        seen[2].wake_by_ref();
        let wakes = [first, second].map(|task| task.0.load(Ordering::Relaxed));
        assert_eq!(wakes, [0, 1]);
    }
}
