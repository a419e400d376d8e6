//! Futures as sites. An `async` loop has no stack frame of its own that could hold an [`Invocation`]. So each poll of the
//! future makes an invocation and lends it to the thread for the duration of the poll.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::{Invocation, SiteId};

thread_local! {
    static CURRENT: Cell<Option<Invocation>> = const { Cell::new(None) };
}

/// Turns futures into sites.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    site: SiteId,
    /// The names of the children. None if the loops of the future are not marked.
    children: Option<&'static [&'static str]>,
}

impl Probe {
    /// Every poll of an instrumented future is an invocation of `site`.
    pub fn new(site: SiteId) -> Self {
        Probe {
            site,
            children: Some(&[]),
        }
    }

    /// Like [`new`](Self::new), but for a future whose loops and children are not marked.
    pub fn unmarked(site: SiteId) -> Self {
        Probe {
            site,
            children: None,
        }
    }

    /// Names the children that [`child`] marks.
    pub fn children(self, children: &'static [&'static str]) -> Self {
        let children = Some(children);
        Probe { children, ..self }
    }

    /// Wraps `future`. Its loops call [`iterate`] to be counted and bounded.
    ///
    /// The probe is taken by value, so that this method takes precedence over methods of that name in traits.
    pub fn instrument<F: Future>(self, future: F) -> Instrumented<F> {
        Instrumented {
            future,
            probe: self,
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
        // Whether the next poll resumes an iteration: one has begun, and the budget did not end the previous poll.
        is_iterating: bool,
    }
}

impl<F: Future> Future for Instrumented<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let mut invocation = match this.probe.children {
            Some(children) => Invocation::enter(this.probe.site, children),
            None => Invocation::enter_unmarked(this.probe.site),
        };
        if *this.is_iterating {
            invocation.resume_iteration();
        }
        let poll = || this.future.poll(cx);
        lend(invocation, poll, |invocation| {
            *this.is_iterating = invocation.has_iterated() && !invocation.has_yielded();
        })
    }
}

/// Lends the invocation of a poll to the thread. After the poll, `end` gets the invocation, which knows what the poll
/// returned.
pub(crate) fn lend<T>(
    invocation: Invocation,
    poll: impl FnOnce() -> Poll<T>,
    end: impl FnOnce(&mut Invocation),
) -> Poll<T> {
    let _lent = Lent {
        outer: CURRENT.replace(Some(invocation)),
    };
    let polled = poll();
    with_current(|invocation| {
        invocation.returns(&polled);
        end(invocation);
    });
    polled
}

/// Takes the invocation back from the thread, even after a panic, and restores the one before it.
struct Lent {
    outer: Option<Invocation>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        drop(CURRENT.replace(self.outer.take()));
    }
}

pub(crate) fn with_current<T>(f: impl FnOnce(&mut Invocation) -> T) -> Option<T> {
    let mut invocation = CURRENT.take()?;
    let result = f(&mut invocation);
    CURRENT.set(Some(invocation));
    Some(result)
}

/// Begins an iteration of a loop inside an [`Instrumented`] future. If the budget is spent, it waits for
/// the next poll of the future by the runtime. Outside such a future it does nothing.
///
/// Several such loops inside one future share its budget. The one that is polled first gets it first.
pub async fn iterate() {
    std::future::poll_fn(|cx| {
        let begun = with_current(|invocation| invocation.iterate_unless_yielded(cx));
        begun.unwrap_or(Poll::Ready(()))
    })
    .await;
}

/// Calls [`Invocation::count`] of the [`Instrumented`] future that is being polled.
pub fn count() {
    with_current(Invocation::count);
}

/// Calls [`Invocation::child`] of the [`Instrumented`] future that is being polled.
pub fn child(child: u8) {
    with_current(|invocation| invocation.child(child));
}

/// Calls [`Invocation::child_ended`] of the [`Instrumented`] future that is being polled.
pub fn child_ended() {
    with_current(Invocation::child_ended);
}
