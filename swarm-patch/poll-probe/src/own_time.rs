//! The part of a poll that its thread ran: without the time that the kernel gave to other threads, or the hypervisor to
//! other machines.
//!
//! The kernel counts how long a thread has run (`CLOCK_THREAD_CPUTIME_ID`). Asking it is a system call, so a thread asks
//! rarely: at the end of an invocation that took [`LONG`], at the beginning of one before which nothing was recorded for
//! [`GAP`], and at least every [`FRESH`] while it records. Between two readings the wall clock and the thread's clock
//! differ by what the thread lost, and [`LostTime`] says where in between that was.
//!
//! Outside of Linux nothing is read, and nothing is lost.
#![allow(
    unsafe_code,
    reason = "two functions of libc that write to a place on the stack"
)]

use std::collections::VecDeque;
use std::time::Duration;

use quanta::Clock;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::marks::Mark;
use crate::record::RawRecord;

/// Whatever ends sooner was hardly interrupted, or it would have taken longer. With 1 µs for a reading, a thread that does
/// nothing but polls of this length spends 1 % of its time on readings.
pub(crate) const LONG: Duration = Duration::from_micros(100);

/// After a pause of this length the thread may have slept, which is no loss of the next invocation.
pub(crate) const GAP: Duration = Duration::from_micros(25);

/// The longest time from a reading to an invocation, so that small losses do not add up.
pub(crate) const FRESH: Duration = Duration::from_millis(2);

/// The clock of a thread, which any thread of the process may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadClock(#[cfg(target_os = "linux")] libc::clockid_t);

#[cfg(target_os = "linux")]
impl ThreadClock {
    /// The clock of the current thread.
    pub fn of_this_thread() -> Option<ThreadClock> {
        let mut id = 0;
        // SAFETY: the thread exists, because it is this one.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut id) };
        (failed == 0).then_some(ThreadClock(id))
    }

    /// For how long the thread has run. None if it has ended.
    pub fn ran_ns(self) -> Option<u64> {
        read_ns(self.0)
    }
}

#[cfg(target_os = "linux")]
fn read_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes a time there, or refuses the clock.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    (failed == 0).then_some(ns)
}

#[cfg(target_os = "linux")]
fn this_thread_ran_ns() -> Option<u64> {
    read_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[cfg(not(target_os = "linux"))]
impl ThreadClock {
    /// There is none outside of Linux.
    pub fn of_this_thread() -> Option<ThreadClock> {
        None
    }

    /// For how long the thread has run.
    pub fn ran_ns(self) -> Option<u64> {
        None
    }
}

#[cfg(not(target_os = "linux"))]
fn this_thread_ran_ns() -> Option<u64> {
    None
}

/// A reading of the thread's clock, after an invocation or a pause that went from `start` to `end`.
#[derive(Clone, Copy, Default)]
pub(crate) struct ClockReading {
    start: u64,
    end: u64,
    /// When the clock had been read. The kernel often gives the core to another thread just then. While the thread does
    /// not run, its clock stands still, so what it says is true of `end` and of `at`.
    at: u64,
    ran_ns: u64,
}

/// Reads the clock of one thread, on that thread.
pub(crate) struct OwnClock {
    readings: Producer<ClockReading>,
    long: u64,
    gap: u64,
    fresh: u64,
    read_at: u64,
}

impl OwnClock {
    pub(crate) fn new(ticks_in: fn(Duration) -> u64) -> (OwnClock, LostTime) {
        /// A second's worth, if every reading is of an invocation that took [`LONG`].
        const CAPACITY: usize = 1 << 14;
        let (readings, emptying) = RingBuffer::new(CAPACITY);
        let clock = OwnClock {
            readings,
            long: ticks_in(LONG),
            gap: ticks_in(GAP),
            fresh: ticks_in(FRESH),
            read_at: 0,
        };
        let lost = LostTime {
            readings: emptying,
            long: clock.long,
            gap: clock.gap,
            last: None,
            losses: VecDeque::new(),
            before_ns: 0,
        };
        (clock, lost)
    }

    /// An invocation has ended. From the returned time on, the next one reads the clock before it begins.
    #[inline(always)]
    pub(crate) fn due(&self, end: u64) -> u64 {
        (end + self.gap).min(self.read_at + self.fresh)
    }

    /// An invocation has ended that took long. The one around it loses little after the reading of one inside it.
    pub(crate) fn after_long(&mut self, start: u64, end: u64, now: impl Fn() -> u64) {
        if end.saturating_sub(self.read_at) >= self.long {
            self.read(start, end, now);
        }
    }

    /// An invocation begins after a pause: the reading was `due` by now.
    pub(crate) fn after_pause(&mut self, due: u64, end: u64, now: impl Fn() -> u64) {
        self.read(due.saturating_sub(self.gap).min(end), end, now);
    }

    #[cold]
    fn read(&mut self, start: u64, end: u64, now: impl Fn() -> u64) {
        let Some(ran_ns) = this_thread_ran_ns() else {
            // The next invocation does not try again at once.
            self.read_at = end;
            return;
        };
        let at = now();
        let reading = ClockReading {
            start,
            end,
            at,
            ran_ns,
        };
        // Without room there is one reading less, and the next one covers more.
        if self.readings.push(reading).is_ok() {
            self.read_at = at;
        }
    }
}

/// What one thread has lost so far, and when.
pub(crate) struct LostTime {
    readings: Consumer<ClockReading>,
    long: u64,
    gap: u64,
    last: Option<ClockReading>,
    /// The time of each loss, and all that was lost up to then.
    losses: VecDeque<(u64, u64)>,
    /// All that was lost before the first of these.
    before_ns: u64,
}

impl LostTime {
    /// Takes the readings up to the end of an invocation. If the last one is its own, the loss is placed at the end of the
    /// longest of the stretches between its `marks`.
    pub(crate) fn catch_up(&mut self, record: &RawRecord, marks: &[Mark], clock: &Clock) {
        let (start, end) = (record.start, record.end());
        while self.readings.peek().is_ok_and(|reading| reading.end <= end)
            && let Ok(reading) = self.readings.pop()
        {
            if let Some(last) = self.last {
                let is_own = (reading.start, reading.end) == (start, end);
                let place = match is_own {
                    true => end_of_longest_stretch(start.max(last.at), record, marks),
                    false => reading.end,
                };
                self.add(place, self.lost_ns(last, reading, clock));
            }
            if reading.at - reading.end >= self.gap {
                self.add(reading.at, clock.delta_as_nanos(reading.end, reading.at));
            }
            self.last = Some(reading);
        }
    }

    /// What was lost between two readings in the stretch of the later one. A loss of [`LONG`] can have been nowhere else,
    /// because there would have been a reading. A shorter one may have been anywhere in between, so the stretch has its
    /// share by time.
    fn lost_ns(&self, last: ClockReading, reading: ClockReading, clock: &Clock) -> u64 {
        /// Shorter differences are the jitter of two clocks.
        const LEAST_NS: u64 = 1_000;
        let ns = |from: u64, to: u64| clock.delta_as_nanos(from, to.max(from));
        let between_ns = ns(last.at, reading.end);
        let lost_ns = between_ns.saturating_sub(reading.ran_ns.saturating_sub(last.ran_ns));
        let stretch_ns = ns(last.at.max(reading.start), reading.end);
        let lost_ns = if reading.start <= last.at || lost_ns >= ns(0, self.long) {
            lost_ns
        } else {
            (lost_ns as f64 * stretch_ns as f64 / between_ns.max(1) as f64) as u64
        };
        match lost_ns {
            ..LEAST_NS => 0,
            _ => lost_ns.min(stretch_ns),
        }
    }

    fn add(&mut self, at: u64, lost_ns: u64) {
        /// Invocations that are still under way began after more recent losses than these.
        const KEPT: usize = 1 << 12;
        if lost_ns == 0 {
            return;
        }
        let so_far_ns = self.losses.back().map_or(self.before_ns, |last| last.1);
        self.losses.push_back((at, so_far_ns + lost_ns));
        if self.losses.len() > KEPT
            && let Some((_, so_far_ns)) = self.losses.pop_front()
        {
            self.before_ns = so_far_ns;
        }
    }

    /// What was lost after `from` and up to `to`.
    pub(crate) fn between_ns(&self, from: u64, to: u64) -> u64 {
        let so_far_ns = |time: u64| {
            let count = self.losses.partition_point(|(at, _)| *at <= time);
            let last = count.checked_sub(1).and_then(|at| self.losses.get(at));
            last.map_or(self.before_ns, |(_, so_far_ns)| *so_far_ns)
        };
        so_far_ns(to).saturating_sub(so_far_ns(from))
    }

    pub(crate) fn is_long(&self, ticks: u64) -> bool {
        ticks >= self.long
    }
}

fn end_of_longest_stretch(from: u64, record: &RawRecord, marks: &[Mark]) -> u64 {
    let times = marks.iter().map(|mark| record.start + mark.offset());
    let (mut began, mut longest) = (from, (0, record.end()));
    for ended in times.filter(|time| *time > from).chain([record.end()]) {
        longest = longest.max((ended - began, ended));
        began = ended;
    }
    longest.1
}
