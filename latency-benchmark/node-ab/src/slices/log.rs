//! Buffers between one thread that notes and one that reads, and the requests that a workload notes. Full means lost, and
//! counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use poll_probe::Recorder;
use rtrb::{Consumer, Producer, RingBuffer};

#[derive(Debug)]
pub struct Log<T> {
    entries: Producer<T>,
    lost: Arc<AtomicU64>,
}

pub struct LogReader<T> {
    entries: Consumer<T>,
    lost: Arc<AtomicU64>,
}

/// Every page of the buffer is written once, so that who notes pays for no page fault and
/// the process does not seem to grow while the buffer is filled for the first time.
pub fn log<T: Default>(capacity: usize) -> (Log<T>, LogReader<T>) {
    let (mut writing, mut reading) = RingBuffer::new(capacity);
    while writing.push(T::default()).is_ok() {}
    while reading.pop().is_ok() {}
    let lost = Arc::new(AtomicU64::new(0));
    let log = Log {
        entries: writing,
        lost: Arc::clone(&lost),
    };
    let reader = LogReader {
        entries: reading,
        lost,
    };
    (log, reader)
}

impl<T> Log<T> {
    /// Whether nobody reads it any more.
    pub fn is_abandoned(&self) -> bool {
        self.entries.is_abandoned()
    }

    /// Notes one entry. If the buffer is full, it is lost, and counted.
    pub fn note(&mut self, entry: T) {
        if self.entries.push(entry).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<T> LogReader<T> {
    pub fn is_abandoned(&self) -> bool {
        self.entries.is_abandoned()
    }

    /// Hands out what is there, and returns how many were lost since the last time.
    pub fn drain(&mut self, mut each: impl FnMut(T)) -> u64 {
        while let Ok(entry) = self.entries.pop() {
            each(entry);
        }
        self.lost.swap(0, Ordering::Relaxed)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Answered {
    pub at_ns: u64,
    pub latency_ns: u64,
    /// What it moved, both ways.
    pub bytes: u64,
    pub peer: usize,
    /// If it is a message: how many of the peer's are expected since the one before.
    pub expected: u64,
    /// Whether it is the last of those that were sent at once.
    pub is_last: bool,
}

/// What the workload finds out beside its requests, and what it is to know for that.
#[derive(Debug, Default)]
pub struct Findings {
    variant: AtomicUsize,
    /// 0 until it is found.
    outstanding: AtomicU32,
}

impl Findings {
    /// Index of the variant in force.
    pub fn variant(&self) -> usize {
        self.variant.load(Ordering::Relaxed)
    }

    pub fn switched_to(&self, variant: usize) {
        self.variant.store(variant, Ordering::Relaxed);
    }

    /// So many unanswered requests for each peer are enough: more of them raise throughput no further.
    pub fn found_outstanding(&self, outstanding: u32) {
        self.outstanding.store(outstanding, Ordering::Relaxed);
    }

    pub fn outstanding(&self) -> Option<u32> {
        Some(self.outstanding.load(Ordering::Relaxed)).filter(|found| *found > 0)
    }
}

/// Where the workload notes its requests.
pub struct RequestLog {
    log: Log<Answered>,
    findings: Arc<Findings>,
    clock: Arc<Recorder>,
}

impl RequestLog {
    pub fn new(clock: Arc<Recorder>) -> (RequestLog, LogReader<Answered>) {
        // Some seconds of the busiest central.
        const CAPACITY: usize = 1 << 17;
        RequestLog::with_capacity(clock, CAPACITY)
    }

    pub fn with_capacity(
        clock: Arc<Recorder>,
        capacity: usize,
    ) -> (RequestLog, LogReader<Answered>) {
        let (log, reader) = log(capacity);
        let findings = Arc::default();
        let log = RequestLog {
            log,
            findings,
            clock,
        };
        (log, reader)
    }

    /// Of what goes on beside that is not measured. It has the same findings.
    pub fn unread(&self) -> RequestLog {
        RequestLog {
            log: log(0).0,
            findings: self.findings(),
            clock: self.clock(),
        }
    }

    /// The time, by the clock of all records.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// The clock of all records, to be read without the log.
    pub fn clock(&self) -> Arc<Recorder> {
        Arc::clone(&self.clock)
    }

    pub fn findings(&self) -> Arc<Findings> {
        Arc::clone(&self.findings)
    }

    /// Notes that a request sent at `since_ns`, from the clock of [`now_ns`](Self::now_ns), was answered just now.
    pub fn answered(&mut self, peer: usize, since_ns: u64, bytes: u64) {
        self.delivered(peer, since_ns, bytes, 0, false);
    }

    /// The same of a message or chunk that was sent at `since_ns`, and tells that `expected` are to be here. If it was sent
    /// to all peers, this one is the last or not.
    pub fn delivered(
        &mut self,
        peer: usize,
        since_ns: u64,
        bytes: u64,
        expected: u64,
        is_last: bool,
    ) {
        let at_ns = self.now_ns();
        self.log.note(Answered {
            at_ns,
            latency_ns: at_ns.saturating_sub(since_ns),
            bytes,
            peer,
            expected,
            is_last,
        });
    }
}
