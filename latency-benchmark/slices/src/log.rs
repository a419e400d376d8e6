//! A buffer between one thread that notes and one that reads. Full means lost, and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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
    (
        log,
        LogReader {
            entries: reading,
            lost,
        },
    )
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
    /// Whether whoever noted has gone.
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
