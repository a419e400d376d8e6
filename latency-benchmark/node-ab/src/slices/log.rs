//! Buffers between a thread that notes entries and one that reads them, and the requests that a workload notes. An entry that
//! finds its buffer full is lost and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use poll_probe::RecordClock;
use rtrb::{Consumer, Producer, RingBuffer};

/// The writing end of a buffer of fixed size.
#[derive(Debug)]
pub struct Log<T> {
    entries: Producer<T>,
    lost: Arc<AtomicU64>,
}

/// The reading end of a [`Log`].
pub struct LogReader<T> {
    entries: Consumer<T>,
    lost: Arc<AtomicU64>,
}

/// Makes a buffer and writes every page of it once. So noting an entry causes no page fault, and the process does not seem to
/// grow while the buffer is filled for the first time.
pub fn new_log<T: Default>(capacity: usize) -> (Log<T>, LogReader<T>) {
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
    /// Whether the reader is gone.
    pub fn is_abandoned(&self) -> bool {
        self.entries.is_abandoned()
    }

    /// Notes one entry. If the buffer is full, the entry is lost and counted.
    pub fn note(&mut self, entry: T) {
        if self.entries.push(entry).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<T> LogReader<T> {
    /// Whether the writer is gone.
    pub fn is_abandoned(&self) -> bool {
        self.entries.is_abandoned()
    }

    /// Passes all entries to `each`. Returns how many were lost since the last call.
    pub fn drain(&mut self, mut each: impl FnMut(T)) -> u64 {
        while let Ok(entry) = self.entries.pop() {
            each(entry);
        }
        self.lost.swap(0, Ordering::Relaxed)
    }
}

/// An answered request, or a message that has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answered {
    pub at_ns: u64,
    pub latency_ns: u64,
    /// The bytes in both directions.
    pub bytes: u64,
    pub peer: usize,
    /// The number of messages of its peer that should have arrived since the last one that did. Only messages have it.
    pub expected: u64,
    /// Whether it is the last of the messages that were sent at once.
    pub is_last: bool,
}

/// A message or chunk that has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    pub peer: usize,
    /// The time at which it was sent, from the clock of the log.
    pub since_ns: u64,
    pub bytes: u64,
    /// The number of messages of its peer that should have arrived since the last one that did.
    pub expected: u64,
    /// Whether it is the last to arrive of those that were sent to all peers at once.
    pub is_last: bool,
}

/// Values that the workload and the measuring thread share.
#[derive(Debug, Default)]
pub struct SharedWithWorkload {
    variant: AtomicUsize,
    /// 0 until the workload has found it.
    outstanding: AtomicU32,
}

impl SharedWithWorkload {
    /// The index of the variant in force.
    pub fn variant(&self) -> usize {
        self.variant.load(Ordering::Relaxed)
    }

    /// Notes the variant in force.
    pub fn set_variant(&self, variant: usize) {
        self.variant.store(variant, Ordering::Relaxed);
    }

    /// Notes how many unanswered requests for each peer are enough: more of them raise throughput no further.
    pub fn set_outstanding(&self, outstanding: u32) {
        self.outstanding.store(outstanding, Ordering::Relaxed);
    }

    pub fn outstanding(&self) -> Option<u32> {
        Some(self.outstanding.load(Ordering::Relaxed)).filter(|outstanding| *outstanding > 0)
    }
}

/// The log in which the workload notes its requests.
pub struct RequestLog {
    log: Log<Answered>,
    shared: Arc<SharedWithWorkload>,
    clock: RecordClock,
}

impl RequestLog {
    /// A log with room for `capacity` requests between two looks of its reader.
    pub fn new(clock: RecordClock, capacity: usize) -> (RequestLog, LogReader<Answered>) {
        let (log, reader) = new_log(capacity);
        let requests = RequestLog {
            log,
            shared: Arc::default(),
            clock,
        };
        (requests, reader)
    }

    /// A log that nobody reads, for requests that are not measured. It shares the same values.
    pub fn unread(&self) -> RequestLog {
        RequestLog {
            log: new_log(0).0,
            shared: self.shared(),
            clock: self.clock(),
        }
    }

    /// The time on the clock of all records.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// The clock of all records.
    pub fn clock(&self) -> RecordClock {
        self.clock.clone()
    }

    /// The values that the workload shares with the thread that reads the log.
    pub fn shared(&self) -> Arc<SharedWithWorkload> {
        Arc::clone(&self.shared)
    }

    /// The time at which something happened that was that long ago.
    pub fn ns_ago(&self, ago: Duration) -> u64 {
        self.clock.ns_ago(ago)
    }

    /// Notes that a request sent at `since_ns`, from the clock of [`now_ns`](Self::now_ns), was answered just now.
    pub fn answered(&mut self, peer: usize, since_ns: u64, bytes: u64) {
        self.delivered(Delivery {
            peer,
            since_ns,
            bytes,
            ..Delivery::default()
        });
    }

    /// Notes that a message or chunk has arrived just now.
    pub fn delivered(&mut self, delivery: Delivery) {
        let at_ns = self.now_ns();
        self.log.note(Answered {
            at_ns,
            latency_ns: at_ns.saturating_sub(delivery.since_ns),
            bytes: delivery.bytes,
            peer: delivery.peer,
            expected: delivery.expected,
            is_last: delivery.is_last,
        });
    }
}
