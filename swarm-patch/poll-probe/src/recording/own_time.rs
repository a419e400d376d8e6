//! The own time of a poll: the part of it in which its thread ran. It leaves out the time that the kernel gave to other
//! threads, or the hypervisor to other machines.
//!
//! The kernel counts how long a thread has run (`CLOCK_THREAD_CPUTIME_ID`). Asking it is a system call, so a thread asks
//! rarely: at the end of an invocation that took [`LONG`], before an invocation that begins after a pause, and before one
//! that begins a while after the last reading. Between two readings the wall clock and the thread's clock differ by the
//! time that the thread was off the CPU, and [`OffCpuTime`] says where in between that was.
//!
//! On systems other than Linux the clock is never read, so a thread seems to run all the time.
#![allow(
    unsafe_code,
    reason = "two functions of libc that write to a place on the stack"
)]

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use quanta::Clock;
use rtrb::{Consumer, Producer};

use super::active::{LONG, clock, ticks_in};
use super::marks::Mark;
use super::record::RawRecord;
use super::under_way::resident;

/// A pause is this many times as long as a reading takes. A thread that has recorded nothing for so long may have slept, and
/// a reading costs a small part of that time.
const PAUSE_READINGS: u32 = 25;
/// Lower limit of the pause: no thread goes to sleep and wakes up in less time.
const SHORTEST_PAUSE: Duration = Duration::from_micros(5);
/// Upper limit of the pause.
const LONGEST_PAUSE: Duration = Duration::from_micros(25);
/// A reading is old after this many pauses. This bounds how many short spans lie between two readings.
const OLD_PAUSES: u32 = 40;

/// The clock of a thread, which any thread of the process may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadClock(#[cfg(target_os = "linux")] libc::clockid_t);

#[cfg(target_os = "linux")]
impl ThreadClock {
    /// The clock of the current thread.
    pub fn for_this_thread() -> Option<ThreadClock> {
        let mut id = 0;
        // SAFETY: the thread exists, because it is this one.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut id) };
        (failed == 0).then_some(ThreadClock(id))
    }

    /// How long the thread has run. None if the thread has ended.
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
    /// Always none: only Linux has such a clock.
    pub fn for_this_thread() -> Option<ThreadClock> {
        None
    }

    /// How long the thread has run.
    pub fn ran_ns(self) -> Option<u64> {
        None
    }
}

#[cfg(not(target_os = "linux"))]
fn this_thread_ran_ns() -> Option<u64> {
    None
}

/// A reading of the thread's clock, after an invocation or a pause.
#[derive(Clone, Copy, Default)]
pub(crate) struct ClockReading {
    /// The time at which the invocation or the pause began.
    start: u64,
    /// The time at which it ended.
    end: u64,
    /// The time at which the system call had returned. If the thread was interrupted in that call, its clock stood still
    /// meanwhile. So `ran_ns` is right both at `end` and at this time.
    at: u64,
    ran_ns: u64,
    is_after_pause: bool,
}

/// Reads the clock of one thread, on that thread.
pub(crate) struct OwnClock {
    readings: Producer<ClockReading>,
    long: u64,
    pause: u64,
    old: u64,
    read_at: u64,
    /// The time at which that reading is old.
    old_at: u64,
}

impl OwnClock {
    pub(crate) fn new() -> (OwnClock, OffCpuTime) {
        /// A second of readings, if every invocation takes [`LONG`].
        const CAPACITY: usize = 1 << 14;
        let reading = reading_takes();
        let (readings, emptying) = resident(reading.map_or(1, |_| CAPACITY));
        let pause = reading.map(|reading| {
            let pause = reading * PAUSE_READINGS;
            ticks_in(pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE))
        });
        let clock = OwnClock {
            readings,
            long: ticks_in(LONG),
            // If there is no clock, a reading is never due.
            pause: pause.unwrap_or(u64::MAX / 2),
            old: pause.map_or(u64::MAX / 2, |pause| pause * u64::from(OLD_PAUSES)),
            read_at: 0,
            old_at: pause.map_or(u64::MAX / 2, |_| 0),
        };
        let off_cpu = OffCpuTime {
            readings: emptying,
            long: clock.long,
            pause: clock.pause,
            last: None,
            spans: VecDeque::new(),
        };
        (clock, off_cpu)
    }

    /// The time from which an invocation has to read the clock before it begins, if the last invocation ended at `end`.
    #[inline(always)]
    pub(crate) fn due(&self, end: u64) -> u64 {
        (end + self.pause).min(self.old_at)
    }

    /// Reads the clock at the end of a long invocation, unless the last reading was less than [`LONG`] ago. That reading was
    /// made by an invocation inside this one.
    pub(crate) fn after_long(&mut self, start: u64, end: u64, now: impl Fn() -> u64) {
        if end.saturating_sub(self.read_at) >= self.long {
            self.read(start, end, false, now);
        }
    }

    /// Reads the clock before an invocation, because a reading was due at `due`. Returns when the next reading is due.
    pub(crate) fn after_pause(&mut self, due: u64, end: u64, now: impl Fn() -> u64) -> u64 {
        self.read(due.saturating_sub(self.pause).min(end), end, true, now);
        self.due(self.read_at)
    }

    #[cold]
    fn read(&mut self, start: u64, end: u64, is_after_pause: bool, now: impl Fn() -> u64) {
        self.read_at = end;
        if let Some(ran_ns) = this_thread_ran_ns() {
            self.read_at = now();
            // If there is no room for this reading, the next one covers its time, too.
            let _ = self.readings.push(ClockReading {
                start,
                end,
                at: self.read_at,
                ran_ns,
                is_after_pause,
            });
        }
        self.old_at = self.read_at + self.old;
    }
}

/// How long a reading takes: the fastest of a few. None if there is no clock to read.
fn reading_takes() -> Option<Duration> {
    let ticks = |_| {
        let before = clock().raw();
        this_thread_ran_ns()?;
        Some(clock().raw().saturating_sub(before))
    };
    let ticks: Option<Vec<u64>> = (0..16).map(ticks).collect();
    let fastest = ticks?.into_iter().min()?;
    Some(clock().delta(0, fastest))
}

/// The time that one thread was off the CPU, and when.
pub(crate) struct OffCpuTime {
    readings: Consumer<ClockReading>,
    long: u64,
    pause: u64,
    last: Option<ClockReading>,
    /// They are sorted by time, and do not overlap.
    spans: VecDeque<OffCpuSpan>,
}

/// The thread was off the CPU for `ns` nanoseconds between `from` and `to`.
#[derive(Clone, Copy)]
struct OffCpuSpan {
    from: u64,
    to: u64,
    ns: u64,
}

impl OffCpuTime {
    /// Takes the readings up to the end of an invocation, and places the spans of a long one between its `marks`. Call this
    /// for every record, in order.
    pub(crate) fn catch_up(&mut self, record: &RawRecord, marks: &[Mark], clock: &Clock) {
        let ns = |from, to| clock.delta_as_nanos(from, to);
        while self
            .readings
            .peek()
            .is_ok_and(|reading| reading.end <= record.end())
            && let Ok(reading) = self.readings.pop()
        {
            if let Some(last) = self.last.replace(reading) {
                self.add_between(last, reading, clock);
            }
            if reading.at.saturating_sub(reading.end) >= self.pause {
                self.add(reading.end, reading.at, ns(reading.end, reading.at));
            }
        }
        if self.is_long(record.ticks) && !marks.is_empty() {
            let marked = marks.iter().map(|mark| record.start + mark.offset());
            let ends: Vec<u64> = marked.chain([record.end()]).collect();
            let inside = self.spans.split_off(self.index_after(record.start));
            let placed = inside
                .iter()
                .flat_map(|span| span.placed(record.start, &ends, ns));
            self.spans.extend(placed);
        }
    }

    /// Adds the time off the CPU between two readings. The stretch of the later reading is the invocation or the pause that
    /// it was made after.
    ///
    /// * A time of [`LONG`] or more lies in the stretch as far as it fits there. Anywhere else it would have caused a reading
    ///   of its own.
    /// * If the stretch is a pause, any such time lies in it as far as it fits, because the thread probably slept.
    /// * If the stretch is an invocation, a shorter time is shared by length.
    ///
    /// The rest of it lies before the stretch.
    fn add_between(&mut self, last: ClockReading, reading: ClockReading, clock: &Clock) {
        /// Shorter differences are the jitter of two clocks.
        const LEAST_NS: u64 = 1_000;
        let ns = |from: u64, to: u64| clock.delta_as_nanos(from, to);
        let between_ns = ns(last.at, reading.end);
        let off_cpu_ns = between_ns.saturating_sub(reading.ran_ns.saturating_sub(last.ran_ns));
        if off_cpu_ns < LEAST_NS {
            return;
        }
        let start = last.at.max(reading.start);
        let stretch_ns = ns(start, reading.end);
        let share_ns = if reading.is_after_pause || off_cpu_ns >= ns(0, self.long) {
            off_cpu_ns
        } else {
            (off_cpu_ns as f64 * stretch_ns as f64 / between_ns as f64) as u64
        };
        let in_stretch_ns = share_ns.min(stretch_ns);
        self.add(last.at, start, off_cpu_ns - in_stretch_ns);
        self.add(start, reading.end, in_stretch_ns);
    }

    fn add(&mut self, from: u64, to: u64, ns: u64) {
        /// An invocation that is under way may need the spans since it began. It is taken to have no more than these.
        const KEPT: usize = 1 << 12;
        if ns > 0 && from < to {
            self.spans.push_back(OffCpuSpan { from, to, ns });
        }
        while self.spans.len() > KEPT {
            self.spans.pop_front();
        }
    }

    /// The sum of the spans that end after `from` and no later than `to`.
    pub(crate) fn off_cpu_between_ns(&self, from: u64, to: u64) -> u64 {
        let first = self.spans.range(self.index_after(from)..);
        let spans = first.take_while(|span| span.to <= to);
        spans.map(|span| span.ns).sum()
    }

    fn index_after(&self, time: u64) -> usize {
        self.spans.partition_point(|span| span.to <= time)
    }

    pub(crate) fn is_long(&self, ticks: u64) -> bool {
        ticks >= self.long
    }
}

impl OffCpuSpan {
    /// Splits the span at the marks: the longest stretch takes as much as it can hold, then the next longest. The stretches
    /// end at `ends`, and the first begins at `start`.
    fn placed(&self, start: u64, ends: &[u64], ns: impl Fn(u64, u64) -> u64) -> Vec<OffCpuSpan> {
        let starts = [start].into_iter().chain(ends.iter().copied());
        let stretches = starts.zip(ends).map(|(from, to)| OffCpuSpan {
            from: self.from.max(from),
            to: self.to.min(*to),
            ns: 0,
        });
        let mut parts: Vec<OffCpuSpan> = stretches.filter(|part| part.from < part.to).collect();
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

    fn us(us: u64) -> u64 {
        ticks_in(Duration::from_micros(us))
    }

    /// What an invocation from `from_us` to `to_us` is said to have been off the CPU, in µs, after readings that say when an
    /// invocation began and ended, when its clock was read, and for how long the thread had run by then.
    fn off_cpu_us(readings: &[[u64; 4]], [from_us, to_us]: [u64; 2]) -> u64 {
        let (mut own_clock, mut off_cpu) = OwnClock::new();
        for [start, end, at, ran] in readings {
            let reading = ClockReading {
                start: us(*start),
                end: us(*end),
                at: us(*at),
                ran_ns: 1000 * ran,
                is_after_pause: false,
            };
            assert!(own_clock.readings.push(reading).is_ok());
        }
        let [start, end] = [from_us, to_us].map(us);
        let record = RawRecord {
            start,
            ticks: end - start,
            ..RawRecord::default()
        };
        off_cpu.catch_up(&record, &[], clock());
        (off_cpu.off_cpu_between_ns(start, end) + 500) / 1000
    }

    #[test]
    fn a_long_span_is_that_of_the_invocation_and_a_short_one_is_shared_by_time() {
        let before = [0, 0, 0, 0];
        // The invocation took 500 of 1,000 µs.
        for (ran, off_cpu) in [(1000, 0), (800, 200), (600, 400), (400, 500), (960, 20)] {
            let readings = [before, [500, 1000, 1000, ran]];
            assert_eq!(off_cpu_us(&readings, [500, 1000]), off_cpu, "{ran}");
        }
        // A reading inside of it leaves no doubt.
        let readings = [before, [500, 900, 900, 900], [500, 1000, 1000, 960]];
        assert_eq!(off_cpu_us(&readings, [500, 1000]), 40);
    }

    #[test]
    fn time_off_the_cpu_while_the_clock_is_read_belongs_to_the_invocation_around() {
        let readings = [[0, 0, 0, 0], [100, 400, 3400, 400], [50, 3500, 3500, 500]];
        assert_eq!(off_cpu_us(&readings, [100, 400]), 0);
        assert_eq!(off_cpu_us(&readings, [50, 3500]), 3000);
    }

    #[test]
    fn a_span_is_in_the_longest_stretch_as_far_as_it_fits() {
        let ns = |from, to| clock().delta_as_nanos(from, to);
        let placed = |off_cpu_us: u64| {
            let (from, to, ns_off_cpu) = (us(100), us(1500), 1000 * off_cpu_us);
            let span = OffCpuSpan {
                from,
                to,
                ns: ns_off_cpu,
            };
            let parts = span.placed(us(50), &[200, 1200, 1600].map(us), ns);
            let rounded = |part: &OffCpuSpan| (part.ns + 500) / 1000;
            parts.iter().map(rounded).collect()
        };
        let [one, several]: [Vec<u64>; 2] = [900, 1350].map(placed);
        assert_eq!(one, [900]);
        assert_eq!(several, [50, 1000, 300]);
    }
}
