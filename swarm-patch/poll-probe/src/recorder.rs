use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use quanta::Clock;

use crate::{
    ChildPoll, LongestChild, Record, Site,
    active::clock,
    record::{NO_CHILD, RawRecord, RawSpan},
    ring::{self, Emptying, PerSite, UNATTACHED},
};

/// How much a thread's buffers hold between two drains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Invocations; 56 bytes each.
    pub records: usize,
    /// Polls of children; 32 bytes each.
    pub spans: usize,
}

impl Default for Capacity {
    /// A second of the busiest connection seen so far, in 46 MiB.
    fn default() -> Self {
        Capacity {
            records: 1 << 18,
            spans: 1 << 20,
        }
    }
}

/// Owns the buffers of the threads attached to it, and empties them.
pub struct Recorder {
    capacity: Capacity,
    clock: Clock,
    created: u64,
    threads: Mutex<Vec<Thread>>,
}

/// What a [`Recorder::drain`] found missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Records handed out.
    pub records: u64,
    lost: [u64; Site::ALL.len()],
}

impl Drained {
    /// Invocations of `site` that found the buffer full since the drain before.
    pub fn lost(&self, site: Site) -> u64 {
        self.lost[site as usize]
    }
}

impl Recorder {
    /// A recorder that no thread is attached to yet.
    pub fn new(capacity: Capacity) -> Self {
        let clock = clock().clone();
        Recorder {
            capacity,
            created: clock.raw(),
            clock,
            threads: Mutex::default(),
        }
    }

    /// Gives the current thread buffers of this recorder, in place of any it had. Until a thread
    /// is attached, what happens on it is counted by [`unattached`] and not recorded.
    pub fn attach(&self) {
        let emptying = ring::attach(self.capacity);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.push(Thread {
            emptying,
            early: HashMap::new(),
        });
    }

    /// Now, on the clock that [`Record::start_ns`] is on, for what else is observed meanwhile.
    pub fn now_ns(&self) -> u64 {
        self.clock.delta_as_nanos(self.created, self.clock.raw())
    }

    /// Hands out every record that is finished, thread by thread, each thread's in the order they
    /// ended, and forgets it. Threads may go on recording meanwhile.
    pub fn drain(&self, mut each: impl FnMut(&Record<'_>)) -> Drained {
        let mut drained = Drained::default();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, thread) in threads.iter_mut().enumerate() {
            // Only what is there now, so that a busy thread cannot hold the drain forever.
            for _ in 0..thread.emptying.records.slots() {
                let Ok(raw) = thread.emptying.records.pop() else {
                    break;
                };
                let children = thread.children(&raw, &self.clock);
                each(&self.record(number, &raw, &children));
                drained.records += 1;
            }
            thread.forget_orphans();
            add_and_clear(&mut drained.lost, &thread.emptying.lost);
        }
        drained
    }

    fn record<'a>(&self, thread: usize, raw: &RawRecord, children: &'a [ChildPoll]) -> Record<'a> {
        let ns = |ticks| self.clock.delta_as_nanos(0, ticks);
        Record {
            site: raw.site,
            variant: raw.variant,
            thread,
            start_ns: self.clock.delta_as_nanos(self.created, raw.start),
            duration_ns: ns(raw.ticks),
            iterations: raw.iterations,
            longest_iteration_ns: ns(raw.longest_iteration),
            outcome: raw.outcome,
            longest_child: (raw.longest_child != NO_CHILD).then(|| LongestChild {
                child: child_name(raw, raw.longest_child),
                duration_ns: ns(raw.longest_child_ticks.into()),
            }),
            children,
            children_lost: raw.spans_lost,
        }
    }
}

/// Invocations of `site` while recording was on, on threads that no recorder was attached to, since
/// the last call.
pub fn unattached(site: Site) -> u64 {
    UNATTACHED[site as usize].swap(0, Ordering::Relaxed)
}

fn add_and_clear(sums: &mut [u64; Site::ALL.len()], counts: &Arc<PerSite>) {
    for (sum, count) in sums.iter_mut().zip(counts.iter()) {
        *sum += count.swap(0, Ordering::Relaxed);
    }
}

fn child_name(raw: &RawRecord, child: u8) -> &'static str {
    raw.children
        .get(usize::from(child))
        .copied()
        .unwrap_or("unnamed")
}

struct Thread {
    emptying: Emptying,
    /// Spans read before the record they belong to: those of an invocation around another one.
    early: HashMap<(Site, u64), Vec<RawSpan>>,
}

impl Thread {
    /// The spans of `raw`, all of which were stored before it.
    fn children(&mut self, raw: &RawRecord, clock: &Clock) -> Vec<ChildPoll> {
        if raw.spans == 0 {
            return Vec::new();
        }
        let key = (raw.site, raw.start);
        let mut own = self.early.remove(&key).unwrap_or_default();
        while own.len() < usize::from(raw.spans) {
            let Ok(span) = self.emptying.spans.pop() else {
                break;
            };
            match (span.site, span.invocation) {
                of if of == key => own.push(span),
                of => self.early.entry(of).or_default().push(span),
            }
        }
        let poll = |span: RawSpan| ChildPoll {
            child: child_name(raw, span.child),
            iteration: span.iteration,
            offset_ns: clock.delta_as_nanos(0, span.offset),
            duration_ns: clock.delta_as_nanos(0, span.ticks.into()),
        };
        own.into_iter().map(poll).collect()
    }

    /// Spans whose record was lost never find it. No more invocations than this nest.
    fn forget_orphans(&mut self) {
        const NESTED: usize = 64;
        if self.early.len() > NESTED {
            let mut starts: Vec<u64> = self.early.keys().map(|(_, start)| *start).collect();
            starts.sort_unstable();
            let oldest_kept = starts[starts.len() - NESTED];
            self.early.retain(|(_, start), _| *start >= oldest_kept);
        }
    }
}
