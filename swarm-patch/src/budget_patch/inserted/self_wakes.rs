//! Defers the wake-ups that the task of a connection gives itself while it is polled.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Wake, Waker},
};

use futures::task::AtomicWaker;

/// Set while the task is being polled.
const POLLING: u8 = 1;
/// Set by a wake-up.
const WOKEN: u8 = 2;

/// The waker of a connection's task. It passes wake-ups on, but keeps those during a poll for later.
#[derive(Default)]
pub(crate) struct SelfWakes {
    state: AtomicU8,
    task: AtomicWaker,
}

impl SelfWakes {
    /// Runs `task`. If it is woken while it is polled, it is polled again only after other tasks,
    /// timers and I/O had their turn.
    pub(crate) async fn defer<F: Future>(task: F) -> F::Output {
        let wakes = Arc::new(SelfWakes::default());
        let waker = Waker::from(wakes.clone());
        let mut task = pin!(task);
        poll_fn(move |cx| {
            wakes.task.register(cx.waker());
            wakes.state.swap(POLLING, Ordering::AcqRel);
            let poll = task.as_mut().poll(&mut Context::from_waker(&waker));
            if wakes.state.swap(0, Ordering::AcqRel) & WOKEN != 0 && poll.is_pending() {
                wake_later(cx);
            }
            poll
        })
        .await
    }
}

impl Wake for SelfWakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.fetch_or(WOKEN, Ordering::AcqRel) & POLLING == 0 {
            self.task.wake();
        }
    }
}

/// The first poll of `yield_now` has tokio wake the task after timers and I/O.
#[cfg(all(
    feature = "tokio",
    not(any(target_os = "emscripten", target_os = "wasi", target_os = "unknown"))
))]
fn wake_later(cx: &mut Context<'_>) {
    let _ = pin!(tokio::task::yield_now()).poll(cx);
}

#[cfg(not(all(
    feature = "tokio",
    not(any(target_os = "emscripten", target_os = "wasi", target_os = "unknown"))
)))]
fn wake_later(cx: &mut Context<'_>) {
    cx.waker().wake_by_ref();
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Mutex, atomic::AtomicUsize},
        task::Poll,
    };

    use super::*;

    #[derive(Default)]
    struct CountedWakes(AtomicUsize);

    impl Wake for CountedWakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn wake_up_during_a_poll_is_deferred() {
        let wakes = Arc::new(CountedWakes::default());
        let waker = Waker::from(wakes.clone());
        let mut task = Box::pin(SelfWakes::defer(poll_fn(|cx| {
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        })));

        let poll = task.as_mut().poll(&mut Context::from_waker(&waker));

        assert!(poll.is_pending());
        let at_once = if cfg!(feature = "tokio") { 0 } else { 1 };
        assert_eq!(wakes.0.load(Ordering::SeqCst), at_once);
        tokio::task::yield_now().await;
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn wake_up_between_polls_is_passed_on() {
        let wakes = Arc::new(CountedWakes::default());
        let waker = Waker::from(wakes.clone());
        let of_task = Mutex::new(None);
        let mut task = Box::pin(SelfWakes::defer(poll_fn(|cx| {
            *of_task.lock().unwrap() = Some(cx.waker().clone());
            Poll::<()>::Pending
        })));

        let poll = task.as_mut().poll(&mut Context::from_waker(&waker));

        assert!(poll.is_pending());
        assert_eq!(wakes.0.load(Ordering::SeqCst), 0);
        of_task.lock().unwrap().take().unwrap().wake();
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
    }
}
