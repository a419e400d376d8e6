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

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use quanta::Clock;
use rtrb::{Consumer, Producer};

use crate::marks::Mark;
use crate::record::RawRecord;
use crate::under_way::resident;

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
        let (readings, emptying) = resident(CAPACITY);
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

/// What one thread has lost, and when.
pub(crate) struct LostTime {
    readings: Consumer<ClockReading>,
    long: u64,
    gap: u64,
    last: Option<ClockReading>,
    /// In the order of time. They do not overlap.
    losses: VecDeque<Loss>,
}

/// It was somewhere in this stretch of time.
#[derive(Clone, Copy)]
struct Loss {
    from: u64,
    to: u64,
    ns: u64,
}

impl LostTime {
    /// Takes the readings up to the end of an invocation, and places the losses in it between its `marks`.
    pub(crate) fn catch_up(&mut self, record: &RawRecord, marks: &[Mark], clock: &Clock) {
        let ns = |from, to| clock.delta_as_nanos(from, to);
        while self
            .readings
            .peek()
            .is_ok_and(|reading| reading.end <= record.end())
            && let Ok(reading) = self.readings.pop()
        {
            if let Some(last) = self.last {
                self.add(Loss {
                    from: last.at.max(reading.start),
                    to: reading.end,
                    ns: self.lost_ns(last, reading, clock),
                });
            }
            if reading.at.saturating_sub(reading.end) >= self.gap {
                self.add(Loss {
                    from: reading.end,
                    to: reading.at,
                    ns: ns(reading.end, reading.at),
                });
            }
            self.last = Some(reading);
        }
        if !marks.is_empty() {
            let marks = marks.iter().map(|mark| record.start + mark.offset());
            let ends: Vec<u64> = marks.chain([record.end()]).collect();
            let inside = self.losses.drain(self.index_after(record.start)..);
            let inside: Vec<Loss> = inside.collect();
            let placed = inside
                .iter()
                .flat_map(|loss| loss.placed(record.start, &ends, &ns));
            self.losses.extend(placed);
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

    fn add(&mut self, loss: Loss) {
        /// Invocations that are still under way began after more recent losses than these.
        const KEPT: usize = 1 << 12;
        if loss.ns > 0 {
            self.losses.push_back(loss);
        }
        if self.losses.len() > KEPT {
            self.losses.pop_front();
        }
    }

    /// What was lost after `from` and up to `to`.
    pub(crate) fn between_ns(&self, from: u64, to: u64) -> u64 {
        let first = self.losses.range(self.index_after(from)..);
        let losses = first.take_while(|loss| loss.to <= to);
        losses.map(|loss| loss.ns).sum()
    }

    fn index_after(&self, time: u64) -> usize {
        self.losses.partition_point(|loss| loss.to <= time)
    }

    pub(crate) fn is_long(&self, ticks: u64) -> bool {
        ticks >= self.long
    }
}

impl Loss {
    /// Its parts in the stretches that end at `ends`, of which the first begins at `start`: as much as there is room for in
    /// the longest, and then in the next longest.
    fn placed(&self, start: u64, ends: &[u64], ns: impl Fn(u64, u64) -> u64) -> Vec<Loss> {
        let starts = [start].into_iter().chain(ends.iter().copied());
        let stretches = starts.zip(ends).map(|(from, to)| Loss {
            from: self.from.max(from),
            to: self.to.min(*to),
            ns: 0,
        });
        let mut parts: Vec<Loss> = stretches.filter(|part| part.from < part.to).collect();
        if parts.len() < 2 {
            return vec![*self];
        }
        parts.sort_unstable_by_key(|part| Reverse(part.to - part.from));
        let mut left_ns = self.ns;
        for part in &mut parts {
            part.ns = left_ns.min(ns(part.from, part.to));
            left_ns -= part.ns;
        }
        parts.retain(|part| part.ns > 0);
        parts.sort_unstable_by_key(|part| part.to);
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::active::{clock, ticks_in};

    fn us(us: u64) -> u64 {
        ticks_in(Duration::from_micros(us))
    }

    /// What an invocation from `from_us` to `to_us` is said to have lost, in µs, after readings that say when an
    /// invocation began and ended, when its clock was read, and for how long the thread had run by then.
    fn lost_us(readings: &[[u64; 4]], [from_us, to_us]: [u64; 2]) -> u64 {
        let (mut own_clock, mut lost) = OwnClock::new(ticks_in);
        for [start, end, at, ran] in readings {
            let reading = ClockReading {
                start: us(*start),
                end: us(*end),
                at: us(*at),
                ran_ns: 1000 * ran,
            };
            assert!(own_clock.readings.push(reading).is_ok());
        }
        let [start, end] = [from_us, to_us].map(us);
        let record = RawRecord {
            start,
            ticks: end - start,
            ..RawRecord::default()
        };
        lost.catch_up(&record, &[], clock());
        (lost.between_ns(start, end) + 500) / 1000
    }

    #[test]
    fn a_long_loss_is_that_of_the_invocation_and_a_short_one_is_shared_by_time() {
        let before = [0, 0, 0, 0];
        // It took 500 of 1,000 µs.
        for (ran, lost) in [(1000, 0), (800, 200), (600, 400), (400, 500), (960, 20)] {
            let readings = [before, [500, 1000, 1000, ran]];
            assert_eq!(lost_us(&readings, [500, 1000]), lost, "{ran}");
        }
        // A reading inside of it leaves no doubt.
        let readings = [before, [500, 900, 900, 900], [500, 1000, 1000, 960]];
        assert_eq!(lost_us(&readings, [500, 1000]), 40);
    }

    #[test]
    fn what_is_lost_while_the_clock_is_read_belongs_to_the_invocation_around() {
        let readings = [[0, 0, 0, 0], [100, 400, 3400, 400], [50, 3500, 3500, 500]];
        assert_eq!(lost_us(&readings, [100, 400]), 0);
        assert_eq!(lost_us(&readings, [50, 3500]), 3000);
    }

    #[test]
    fn a_loss_is_in_the_longest_stretch_as_far_as_it_fits() {
        let ns = |from, to| clock().delta_as_nanos(from, to);
        let placed = |lost_us: u64| {
            let (from, to, ns_lost) = (us(100), us(1500), 1000 * lost_us);
            let loss = Loss {
                from,
                to,
                ns: ns_lost,
            };
            let parts = loss.placed(us(50), &[200, 1200, 1600].map(us), ns);
            let rounded = |part: &Loss| (part.ns + 500) / 1000;
            parts.iter().map(rounded).collect()
        };
        let [one, several]: [Vec<u64>; 2] = [900, 1350].map(placed);
        assert_eq!(one, [900]);
        assert_eq!(several, [50, 1000, 300]);
    }
}
