//! Requests, as the workload sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use poll_probe::Recorder;

use crate::log::{Log, LogReader, log};

#[derive(Clone, Copy, Debug, Default)]
pub struct Answered {
    pub at_ns: u64,
    pub latency_ns: u64,
    /// What it moved, both ways.
    pub bytes: u64,
    pub peer: usize,
    /// If it is a message: how many of the peer's are expected since the one before.
    pub expected: u64,
}

/// What the workload finds out beside its requests.
#[derive(Debug, Default)]
pub struct Findings {
    /// 0 until it is found.
    outstanding: AtomicU32,
}

impl Findings {
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
        self.delivered(peer, since_ns, bytes, 0);
    }

    /// The same of a message that was published at `since_ns`, and tells that `expected` are to be here.
    pub fn delivered(&mut self, peer: usize, since_ns: u64, bytes: u64, expected: u64) {
        let at_ns = self.now_ns();
        self.log.note(Answered {
            at_ns,
            latency_ns: at_ns.saturating_sub(since_ns),
            bytes,
            peer,
            expected,
        });
    }
}
