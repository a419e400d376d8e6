//! Futures as sites. An `async` loop has no frame of its own on the stack for an [`Invocation`] to
//! live in, so the one that its future's current poll makes is lent to the thread for that poll.

use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use crate::{Invocation, Site};

thread_local! {
    static CURRENT: Cell<Option<Invocation>> = const { Cell::new(None) };
}

/// Makes sites of futures.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    site: Site,
    children: &'static [&'static str],
}

impl Probe {
    /// Every poll of an instrumented future is an invocation of `site`.
    pub fn new(site: Site) -> Self {
        Probe {
            site,
            children: &[],
        }
    }

    /// Names the children that [`poll_fn_child`] marks.
    pub fn children(self, children: &'static [&'static str]) -> Self {
        Probe { children, ..self }
    }

    /// Wraps `future`. Its loops call [`iterate`] to be counted and bounded.
    pub fn instrument<F: Future>(&self, future: F) -> Instrumented<F> {
        Instrumented {
            future,
            probe: *self,
            is_iterating: false,
        }
    }
}

pin_project! {
    /// A future each poll of which is an invocation of a site.
    #[must_use = "futures do nothing unless polled"]
    pub struct Instrumented<F> {
        #[pin]
        future: F,
        probe: Probe,
        // Whether the next poll comes to the loop from within: an iteration was begun and the poll
        // before did not end with one denied.
        is_iterating: bool,
    }
}

impl<F: Future> Future for Instrumented<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let mut invocation = Invocation::enter(this.probe.site, this.probe.children);
        if *this.is_iterating {
            invocation.resume_iteration();
        }
        let _lent = Lent::new(invocation);
        let polled = this.future.poll(cx);
        with_current(|invocation| {
            *this.is_iterating = invocation.has_iterated() && !invocation.has_yielded();
            if polled.is_ready() {
                invocation.ready();
            } else if !invocation.has_yielded() {
                invocation.pending();
            }
        });
        polled
    }
}

/// Takes back the invocation lent to the thread, even from a panic, and gives the thread the one it
/// had.
struct Lent {
    outer: Option<Invocation>,
}

impl Lent {
    fn new(invocation: Invocation) -> Lent {
        Lent {
            outer: CURRENT.replace(Some(invocation)),
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        drop(CURRENT.replace(self.outer.take()));
    }
}

fn with_current<T>(f: impl FnOnce(&mut Invocation) -> T) -> Option<T> {
    let mut invocation = CURRENT.take()?;
    let result = f(&mut invocation);
    CURRENT.set(Some(invocation));
    Some(result)
}

/// Begins an iteration of a loop inside an [`Instrumented`] future. With the budget spent it waits for
/// the future's next poll by the runtime. Anywhere else it does nothing.
///
/// Several such loops inside one future share its budget, and whichever is polled first is served
/// first.
pub async fn iterate() {
    std::future::poll_fn(|cx| {
        with_current(|invocation| invocation.iterate_unless_yielded(cx)).unwrap_or(Poll::Ready(()))
    })
    .await;
}

/// `std::future::poll_fn` whose calls are polls of child 0 of the [`Instrumented`] future around.
pub fn poll_fn_child<T, F>(f: F) -> PollFnChild<F>
where
    F: FnMut(&mut Context<'_>) -> Poll<T>,
{
    PollFnChild { f }
}

/// What [`poll_fn_child`] returns. A type with a name, because the compiler has to see that its drop
/// does nothing with what the closure borrows.
#[must_use = "futures do nothing unless polled"]
pub struct PollFnChild<F> {
    f: F,
}

impl<T, F> Future for PollFnChild<F>
where
    F: FnMut(&mut Context<'_>) -> Poll<T> + Unpin,
{
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        with_current(|invocation| invocation.child(0));
        let polled = (self.f)(cx);
        with_current(Invocation::own);
        polled
    }
}
