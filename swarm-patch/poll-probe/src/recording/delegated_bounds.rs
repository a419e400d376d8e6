//! Delegated bounds: a poll function has no loop of its own, but calls functions whose loops have bounds already. A budget
//! takes the place of these bounds. The graft puts calls of these functions around upstream's bounds.

use std::task::{Context, Poll};
use std::time::Duration;

use super::task::{lend, with_current};
use super::wake;
use crate::{Budget, Invocation, Limit, SiteId, Wake};

/// Runs the body of such a poll function as an invocation of `site`. The functions that the body calls reach the invocation by
/// the functions of this module, and by [`child`](crate::child) and [`child_ended`](crate::child_ended). The record has no
/// iterations.
pub fn with_delegated_bounds<T>(
    site: SiteId,
    children: &'static [&'static str],
    body: impl FnOnce() -> Poll<T>,
) -> Poll<T> {
    let mut invocation = Invocation::enter(site, children);
    // The function polls each child once, so all their polls belong to one iteration.
    invocation.resume_iteration();
    lend(invocation, body, Invocation::unmark)
}

fn budget() -> Option<Budget> {
    with_current(|invocation| invocation.budget())?
}

/// The count of the budget. If the budget has no count, `upstream_bound`.
pub fn at_most(upstream_bound: usize) -> usize {
    match budget().map(|budget| budget.limit) {
        Some(Limit::Count(count)) => count.get() as usize,
        _ => upstream_bound,
    }
}

/// The segments of the budget. If the budget has none, `upstream_bound`.
pub fn segments<T: TryFrom<usize>>(upstream_bound: T) -> T {
    let segments = budget().and_then(|budget| T::try_from(budget.segments?.get() as usize).ok());
    segments.unwrap_or(upstream_bound)
}

/// The time of the budget. If the budget has no time, `upstream_bound`.
pub fn no_longer_than(upstream_bound: Duration) -> Duration {
    match budget().map(|budget| budget.limit) {
        Some(Limit::Time(time)) => time,
        _ => upstream_bound,
    }
}

/// How many pieces of work that take `each_ns` fit into the time of the budget: at least one. If the budget has no time,
/// `upstream_bound`.
pub fn in_time(upstream_bound: usize, each_ns: f64) -> usize {
    match no_longer_than(Duration::ZERO) {
        Duration::ZERO => upstream_bound,
        time => ((time.as_nanos() as f64 / each_ns) as usize).max(1),
    }
}

/// Notes whether the function reached a bound, and returns it. If it did and the site has a budget, the invocation has
/// yielded.
pub fn reached(is_reached: bool) -> bool {
    if is_reached {
        with_current(Invocation::yield_if_bounded);
    }
    is_reached
}

/// Whether the function has to wake its task itself. After an invocation that has yielded, the budget may say that tokio
/// does so later.
pub fn wakes_now(cx: &mut Context<'_>) -> bool {
    let has_yielded = with_current(|invocation| invocation.has_yielded()) == Some(true);
    let is_deferred = has_yielded && budget().is_some_and(|budget| budget.wake == Wake::Deferred);
    if is_deferred {
        wake::wake(Wake::Deferred, cx);
    }
    !is_deferred
}
