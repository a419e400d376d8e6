use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};

use tokio::task::coop;

use crate::Wake;

/// Asks the runtime to poll the task of `cx` again.
pub(crate) fn wake(wake: Wake, cx: &mut Context<'_>) {
    match wake {
        Wake::Immediate => cx.waker().wake_by_ref(),
        Wake::Deferred => {
            // The first poll of a new `yield_now` hands the waker to the scheduler.
            let first = pin!(tokio::task::yield_now()).poll(cx);
            debug_assert!(first.is_pending());
        }
    }
}

/// Takes a unit of tokio's cooperative budget. If no unit is left, tokio wakes the task later.
pub(crate) fn take_coop_unit(cx: &mut Context<'_>) -> Poll<()> {
    coop::poll_proceed(cx).map(|unit| unit.made_progress())
}

/// Checks whether tokio's cooperative budget has a unit left, and takes none.
pub(crate) fn poll_coop_unit(cx: &mut Context<'_>) -> Poll<()> {
    // A unit that is dropped without `made_progress` goes back.
    coop::poll_proceed(cx).map(drop)
}
