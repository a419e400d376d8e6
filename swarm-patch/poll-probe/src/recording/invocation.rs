//! The hot path. The whole cost of an instrumented poll function is in this file, in [`active`], in
//! [`mark`](crate::recording::ring::mark) and in [`store`](crate::recording::ring::store), and for an invocation that takes
//! long, comes after a pause or comes 0.2 to 1 ms after the last reading, in a system call of
//! [`own_time`](crate::recording::own_time).

use std::marker::PhantomData;
use std::task::{Context, Poll};
use std::{fmt, thread};

use super::active::{Active, active};
use super::marks::Mark;
use super::record::{Iterations, NO_CHILD, OWN_CODE, RawRecord};
use super::under_way::InvocationParts;
use super::{ring, wake, yields};
use crate::{Budget, Mode, Outcome, SiteId};

/// One invocation of a poll function, from its creation to its drop.
///
/// ```
/// use std::task::{Context, Poll};
/// use poll_probe::{Invocation, SiteId};
///
/// const CONNECTION: SiteId = SiteId::new(0);
/// struct Connection { frames: Vec<u8> }
/// impl Connection {
///     fn poll_frame(&mut self, _cx: &mut Context<'_>) -> Poll<Option<u8>> {
///         Poll::Ready(self.frames.pop())
///     }
///
///     fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
///         let mut probe = Invocation::enter(CONNECTION, &["poll_frame"]);
///         loop {
///             if probe.iterate(cx).is_pending() {
///                 return Poll::Pending; // The budget is spent, and a wake is arranged.
///             }
///             probe.child(0);
///             match self.poll_frame(cx) {
///                 Poll::Ready(Some(_frame)) => {
///                     probe.child_ended();
///                     continue;
///                 }
///                 Poll::Ready(None) => return Poll::Ready(()),
///                 Poll::Pending => {}
///             }
///             probe.pending();
///             return Poll::Pending;
///         }
///     }
/// }
/// # let cx = &mut Context::from_waker(std::task::Waker::noop());
/// # assert!(Connection { frames: vec![1, 2] }.poll(cx).is_ready());
/// ```
///
/// An invocation ends on the thread on which it began, because the buffers of that thread have its children:
///
/// ```compile_fail,E0277
/// # use poll_probe::{Invocation, SiteId};
/// let invocation = Invocation::enter(SiteId::new(0), &[]);
/// std::thread::spawn(move || drop(invocation));
/// ```
#[must_use = "an invocation ends when it is dropped"]
pub struct Invocation {
    active: &'static Active,
    children: &'static [&'static str],
    start: u64,
    iteration_start: u64,
    longest_iteration: u64,
    iterations: Iterations,
    site: SiteId,
    outcome: Outcome,
    open_child: u8,
    marks: InvocationParts,
    /// The meter's readings. If one finds no room, all are dropped, because differences need the reading before.
    readings: InvocationParts,
    /// This keeps the invocation on its thread.
    not_send: PhantomData<*const ()>,
}

impl Invocation {
    /// Begins an invocation of `site`. Later calls name a child by its index in `children`.
    #[inline]
    pub fn enter(site: SiteId, children: &'static [&'static str]) -> Self {
        let active = active();
        let (mut start, mut readings) = (0, InvocationParts::default());
        if active.bound(site).timed {
            start = active.ticks();
            // Every recorded invocation is timed, so that an untimed one does not reach this check.
            if active.mode != Mode::Off && ring::is_to_prepare(start, active.mode == Mode::Metered)
            {
                (start, readings) = prepare(active);
            }
        }
        Invocation {
            active,
            children,
            start,
            iteration_start: start,
            longest_iteration: 0,
            iterations: Iterations::ZERO,
            site,
            outcome: Outcome::Ready,
            open_child: NO_CHILD,
            marks: InvocationParts::default(),
            readings,
            not_send: PhantomData,
        }
    }

    /// Begins an invocation of a function without marks. Its record has a duration and an outcome, and it has no bound.
    #[inline]
    pub fn enter_unmarked(site: SiteId) -> Self {
        let mut invocation = Self::enter(site, &[]);
        invocation.unmark();
        invocation
    }

    /// Leaves the iterations out of the record.
    #[inline]
    pub(crate) fn unmark(&mut self) {
        self.iterations = Iterations::UNMARKED;
    }

    /// Whether the remedy with this number is in force. That does not change during an invocation, so all places in one
    /// function agree.
    #[inline]
    pub fn remedy(&self, number: u32) -> bool {
        self.active.variant.budgets.remedy(number)
    }

    /// The budget in force at the site of this invocation.
    pub(crate) fn budget(&self) -> Option<Budget> {
        self.active.variant.budgets.at(self.site)
    }

    fn end_by_budget(&mut self) {
        self.outcome = Outcome::Yielded;
        yields::note();
    }

    /// Notes that the function reached a bound. If the site has a budget, the bound is that of the budget, so the invocation
    /// has yielded.
    pub(crate) fn yield_if_bounded(&mut self) {
        if self.budget().is_some() && !self.has_yielded() {
            self.end_by_budget();
        }
    }

    /// Begins an iteration. Call it at the top of the loop, and return if it is `Pending`: then the
    /// budget is spent, and the task will be woken.
    #[inline(always)]
    pub fn iterate(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.iterations > Iterations::ZERO {
            return self.iterate_again(cx);
        }
        if self.active.bound(self.site).coop && wake::poll_coop_unit(cx).is_pending() {
            self.end_by_budget();
            return Poll::Pending;
        }
        self.iterations = Iterations::ONE;
        Poll::Ready(())
    }

    /// Begins an iteration after the first. Only these iterations are bounded: the one before made progress, or the loop
    /// would have ended.
    #[inline(never)]
    fn iterate_again(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let bound = self.active.bound(self.site);
        let mut elapsed = 0;
        if bound.timed {
            let now = self.active.ticks();
            elapsed = now.saturating_sub(self.start);
            self.end_iteration(now);
            self.iteration_start = now;
        }
        if self.iterations >= bound.iterations || elapsed >= bound.ticks {
            if self.iterations == Iterations::UNMARKED {
                return Poll::Ready(());
            }
            self.end_by_budget();
            wake::wake(bound.wake, cx);
            return Poll::Pending;
        }
        if bound.coop && wake::take_coop_unit(cx).is_pending() {
            self.end_by_budget();
            return Poll::Pending;
        }
        if self.active.mode == Mode::Children {
            self.mark(NO_CHILD, self.start + elapsed);
        }
        self.iterations = self.iterations.next();
        Poll::Ready(())
    }

    /// Begins an iteration of a loop that a budget cannot end, because returning would lose data that its variables hold. The
    /// next [`iterate`](Self::iterate) applies the budget.
    #[inline]
    pub fn count(&mut self) {
        if self.iterations > Iterations::ZERO && self.active.bound(self.site).timed {
            let now = self.active.ticks();
            self.end_iteration(now);
            self.iteration_start = now;
        }
        self.iterations = self.iterations.next();
    }

    /// Begins the time of a child, which lasts until the next mark.
    #[inline]
    pub fn child(&mut self, child: u8) {
        if self.active.mode.marks_children() {
            self.begin_child(child);
        }
    }

    #[inline(never)]
    fn begin_child(&mut self, child: u8) {
        let mut now = self.active.ticks();
        if self.active.mode == Mode::Metered {
            now = self.end_child(now);
        }
        self.open_child = child;
        self.mark(child, now);
    }

    /// Ends the time of a child. What follows is the poll function's own time.
    #[inline]
    pub fn child_ended(&mut self) {
        if self.open_child != NO_CHILD {
            self.end_child(self.active.ticks());
        }
    }

    /// Notes that the poll function is about to return `Pending`, and not because of its budget.
    #[inline]
    pub fn pending(&mut self) {
        self.outcome = Outcome::Pending;
    }

    /// Notes what the poll function is about to return.
    #[inline]
    pub fn returns<T>(&mut self, polled: &Poll<T>) {
        if polled.is_ready() {
            self.outcome = Outcome::Ready;
        } else if self.outcome != Outcome::Yielded {
            self.outcome = Outcome::Pending;
        }
    }

    /// Like [`iterate`](Self::iterate), but for a future whose loops share one invocation. After one of the loops has
    /// yielded, none of them goes on in this invocation.
    pub(crate) fn iterate_unless_yielded(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.has_yielded() {
            wake::wake(self.active.bound(self.site).wake, cx);
            return Poll::Pending;
        }
        self.iterate(cx)
    }

    /// Notes that this invocation resumes an iteration that began before it.
    #[inline]
    pub(crate) fn resume_iteration(&mut self) {
        self.iterations = Iterations::ONE;
    }

    #[inline]
    pub(crate) fn has_iterated(&self) -> bool {
        self.iterations.number() > Some(0)
    }

    #[inline]
    pub(crate) fn has_yielded(&self) -> bool {
        self.outcome == Outcome::Yielded
    }

    #[inline]
    fn end_iteration(&mut self, now: u64) {
        if self.open_child != NO_CHILD {
            self.end_child(now);
        }
        let ticks = now.saturating_sub(self.iteration_start);
        self.longest_iteration = self.longest_iteration.max(ticks);
    }

    /// Ends the open child and, in the metered mode, the poll function's own code. Returns the time at which the code after it
    /// begins.
    #[inline(never)]
    fn end_child(&mut self, now: u64) -> u64 {
        let child = std::mem::replace(&mut self.open_child, NO_CHILD);
        if child != NO_CHILD {
            self.mark(OWN_CODE, now);
        }
        if self.active.mode != Mode::Metered {
            return now;
        }
        self.store_reading(child.min(OWN_CODE));
        self.active.ticks()
    }

    #[cold]
    fn store_reading(&mut self, child: u8) {
        if !self.readings.are_none() {
            self.readings = ring::read_meter(self.readings, child).unwrap_or_default();
        }
    }

    /// Marks what runs from `now` on: a child, or the poll function itself ([`OWN_CODE`]). [`NO_CHILD`] ends an iteration and
    /// changes nothing else.
    #[inline(always)]
    fn mark(&mut self, child: u8, now: u64) {
        let offset = now.saturating_sub(self.start);
        let iterations = self.iterations.number().unwrap_or(0);
        ring::mark(&mut self.marks, Mark::new(offset, iterations, child));
    }

    #[inline(never)]
    fn finish(&mut self) {
        if thread::panicking() {
            return ring::lose(self.site, self.marks, self.readings);
        }
        let end = self.active.ticks();
        // The end of the record is the end of the open child, too, so the child needs no mark.
        let child = std::mem::replace(&mut self.open_child, NO_CHILD);
        if self.active.mode == Mode::Metered {
            if child != NO_CHILD {
                self.store_reading(child);
            }
            self.store_reading(NO_CHILD);
        }
        self.end_iteration(end);
        let ticks = end.saturating_sub(self.start);
        if ticks >= self.active.long {
            ring::read_own_clock(self.start, end, self.active);
        }
        let record = RawRecord {
            start: self.start,
            ticks,
            longest_iteration: self.longest_iteration,
            children: self.children,
            iterations: self.iterations,
            variant: self.active.id,
            marks: 0,
            entries_lost: 0,
            readings: 0,
            site: self.site,
            outcome: self.outcome,
        };
        ring::store(record, self.marks, self.readings);
    }
}

/// Makes the buffers of the thread if it needs some, reads the thread's own clock if that is due, and reads the meter in
/// the metered mode. Returns the time after all three, so that none of them is part of the record, and the meter's reading.
#[cold]
fn prepare(active: &Active) -> (u64, InvocationParts) {
    ring::make_buffers();
    ring::read_own_clock_if_due(active);
    let readings = match active.mode {
        Mode::Metered => ring::read_meter(InvocationParts::default(), OWN_CODE),
        _ => None,
    };
    (active.ticks(), readings.unwrap_or_default())
}

/// `tracing` records the arguments of functions, and some functions get an invocation as an argument.
impl fmt::Debug for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invocation").finish_non_exhaustive()
    }
}

impl Drop for Invocation {
    #[inline(always)]
    fn drop(&mut self) {
        if self.active.mode != Mode::Off {
            self.finish();
        }
    }
}
