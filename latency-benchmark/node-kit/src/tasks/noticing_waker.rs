//! A waker that tells an observer about each wake before it wakes the task.

use std::sync::Arc;
use std::task::{Wake, Waker};

/// An observer of the wakes of one task.
pub(crate) trait WakeObserver: Default + Send + Sync + 'static {
    fn woken(&self);
}

/// The waker of a task's last poll. It is made again only if the task is polled with another waker.
pub(crate) struct NoticingWaker<O>(Option<(Arc<Noticing<O>>, Waker)>);

struct Noticing<O> {
    task: Waker,
    observer: O,
}

impl<O> Default for NoticingWaker<O> {
    fn default() -> Self {
        NoticingWaker(None)
    }
}

impl<O: WakeObserver> NoticingWaker<O> {
    /// The waker to poll a task with in place of its waker `task`, and the observer of its wakes.
    pub(crate) fn around(&mut self, task: &Waker) -> (&O, &Waker) {
        let made = self.0.take();
        let (noticing, waker) = self.0.insert(
            made.filter(|(noticing, _)| noticing.task.will_wake(task))
                .unwrap_or_else(|| {
                    let noticing = Arc::new(Noticing {
                        task: task.clone(),
                        observer: O::default(),
                    });
                    (Arc::clone(&noticing), Waker::from(noticing))
                }),
        );
        (&noticing.observer, waker)
    }
}

impl<O: WakeObserver> Wake for Noticing<O> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.observer.woken();
        self.task.wake_by_ref();
    }
}
