use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::active::mode_of;
use super::lock::lock;
use super::marks;
use super::record::{MeterCounts, OWN_CODE, RawReading, RawRecord};
use super::ring::{self, Emptying, Shared};
use crate::{Capacity, Meter, Mode, Reading, Record, RecordClock, SiteId};

/// Owns the buffers of the threads attached to it, and empties them.
pub struct Recorder {
    clock: RecordClock,
    shared: Arc<Shared>,
    /// The buffers of the threads that earlier drains found. A drain locks them for long, so new threads leave theirs in
    /// `shared`, and no thread waits for a drain.
    threads: Mutex<Vec<Emptying>>,
}

/// The numbers of records that a [`Recorder::drain`] handed out and missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Records handed out.
    pub records: u64,
    lost: [u64; SiteId::MOST],
}

impl Drained {
    /// Invocations of `site` since the previous drain that have no record. Either the buffer was full, or
    /// the invocation panicked.
    pub fn lost(&self, site: SiteId) -> u64 {
        self.lost[site.number()]
    }
}

impl Recorder {
    /// A recorder without attached threads.
    pub fn new(capacity: Capacity) -> Self {
        Recorder::with(capacity, None)
    }

    /// A recorder with a meter for [`Mode::Metered`], and room for `readings` readings in each thread's buffers. Each
    /// invocation takes two readings of 88 bytes, and each poll of a child at most two.
    pub fn with_meter(capacity: Capacity, readings: usize, meter: Meter) -> Self {
        Recorder::with(capacity, Some((meter, readings)))
    }

    fn with(capacity: Capacity, meter: Option<(Meter, usize)>) -> Self {
        Recorder {
            clock: RecordClock::new(),
            shared: Arc::new(Shared {
                capacity,
                meter,
                threads: AtomicUsize::new(0),
                new_buffers: Mutex::default(),
            }),
            threads: Mutex::default(),
        }
    }

    /// Attaches the current thread: this recorder records it from now on, and no other does.
    ///
    /// This costs almost nothing, so it may be called on every thread of a runtime, including those for
    /// blocking work. The first invocation on the thread while recording is on makes the buffers and
    /// writes every page of them, before the invocation's time begins. From then on nothing is allocated. The
    /// first [`drain`](Self::drain) after the thread's end frees the buffers.
    pub fn attach(&self) {
        ring::attach(&self.shared);
    }

    /// Attaches every thread of the process that [`attach`](Self::attach) was not called on, at the thread's first invocation
    /// while recording is on. Call this before recording begins: a thread that had such an invocation before stays without a
    /// recorder. If this is called on several recorders, the last one takes the threads.
    pub fn attach_all(&self) {
        ring::attach_all(&self.shared);
    }

    /// The current time on the clock of [`Record::start_ns`], for other observations.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// The clock of its records.
    pub fn clock(&self) -> RecordClock {
        self.clock.clone()
    }

    /// Hands out every finished record and forgets it: thread by thread, in the order in which the
    /// invocations ended. Threads may go on recording meanwhile.
    pub fn drain(&self, mut each: impl FnMut(&Record<'_>)) -> Drained {
        let mut drained = Drained::default();
        let mut threads = lock(&self.threads);
        threads.append(&mut lock(&self.shared.new_buffers));
        threads.retain_mut(|thread| {
            // This is asked before the records are counted, so that all records of an ended thread are read.
            let has_ended = thread.records.is_abandoned();
            // Only the records that exist now are read, so that a busy thread cannot prolong the drain for ever.
            for _ in 0..thread.records.slots() {
                let Ok(raw) = thread.records.pop() else {
                    break;
                };
                self.hand_out(&raw, thread, &mut each);
                drained.records += 1;
            }
            for (sum, count) in drained.lost.iter_mut().zip(thread.lost.iter()) {
                *sum += count.swap(0, Ordering::Relaxed);
            }
            !has_ended
        });
        drained
    }

    /// Hands out a record with its marks and readings, which are the next ones in the buffers of its thread.
    fn hand_out(&self, raw: &RawRecord, thread: &mut Emptying, each: &mut impl FnMut(&Record<'_>)) {
        let clock = &self.clock.clock;
        let own_marks = marks::take(&mut thread.marks, raw);
        let off_cpu = &mut thread.off_cpu;
        off_cpu.catch_up(raw, &own_marks, clock);
        let is_long = off_cpu.is_long(raw.ticks);
        let off_cpu_between_ns = |from, to| match is_long {
            true => off_cpu.off_cpu_between_ns(from, to),
            false => 0,
        };
        let (children, iteration_ends) = marks::parts(&own_marks, raw, clock, off_cpu_between_ns);
        let off_cpu_ns = off_cpu_between_ns(raw.start, raw.end());
        let (readings, readings_lost) = thread.readings(raw, children.len());
        let ns = |ticks| clock.delta_as_nanos(0, ticks);
        let (duration_ns, longest_ns) = (ns(raw.ticks), ns(raw.longest_iteration));
        each(&Record {
            site: raw.site,
            variant: raw.variant,
            thread: thread.thread,
            start_ns: self.clock.at_ns(raw.start),
            duration_ns,
            off_cpu_ns,
            iterations: raw.iterations.number(),
            longest_iteration_ns: raw.longest_iteration_ns(longest_ns, duration_ns, off_cpu_ns),
            outcome: raw.outcome,
            children: &children,
            iteration_ends: &iteration_ends,
            entries_lost: raw.entries_lost,
            readings: &readings,
            readings_lost,
        });
    }
}

impl RawRecord {
    /// The estimate that [`Record::longest_iteration_ns`] describes.
    fn longest_iteration_ns(&self, took_ns: u64, duration_ns: u64, off_cpu_ns: u64) -> Option<u64> {
        let iterations = self.iterations.number()?;
        let mean_ns = duration_ns.saturating_sub(off_cpu_ns) / u64::from(iterations.max(1));
        Some(took_ns.saturating_sub(off_cpu_ns).max(mean_ns))
    }

    pub(crate) fn child(&self, child: u8) -> &'static str {
        let name = self.children.get(usize::from(child));
        name.copied().unwrap_or("unnamed")
    }
}

impl Emptying {
    /// The readings of an invocation, and how many are missing.
    fn readings(&mut self, raw: &RawRecord, children: usize) -> (Vec<Reading>, u32) {
        let Some(readings) = self
            .readings
            .as_mut()
            .filter(|_| mode_of(raw.variant) == Mode::Metered)
        else {
            return (Vec::new(), 0);
        };
        let read = readings.read_chunk(raw.readings.into());
        let read: Vec<RawReading> = read.into_iter().flatten().collect();
        let [first, .., last] = &read[..] else {
            let lost = children as u32 + u32::from(raw.entries_lost) + 1;
            return (Vec::new(), lost);
        };
        let mut own = grown(&last.counts, &first.counts);
        let mut readings = Vec::new();
        for (before, after) in read.iter().zip(&read[1..]) {
            if after.child < OWN_CODE {
                let counts = grown(&after.counts, &before.counts);
                own = grown(&own, &counts);
                let child = Some(raw.child(after.child));
                readings.push(Reading { child, counts });
            }
        }
        readings.push(Reading {
            child: None,
            counts: own,
        });
        (readings, 0)
    }
}

fn grown(after: &MeterCounts, before: &MeterCounts) -> MeterCounts {
    std::array::from_fn(|counter| after[counter].saturating_sub(before[counter]))
}
