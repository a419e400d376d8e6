//! A ring of records of different lengths. One thread, or a signal handler on it, writes to the ring, and
//! another thread reads. Writing neither allocates nor waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rtrb::{Consumer, Producer, RingBuffer};

/// 8 MiB, about ten thousand stacks.
const WORDS: usize = 1 << 20;

/// What a record begins with.
pub(crate) type Head = [u64; 3];

pub(crate) fn records() -> (Writer, Reader) {
    let (producer, consumer) = RingBuffer::new(WORDS);
    let lost = Arc::new(AtomicU64::new(0));
    let writer = Writer {
        ring: producer,
        lost: Arc::clone(&lost),
    };
    let reader = Reader {
        ring: consumer,
        lost,
        frames: Vec::new(),
    };
    (writer, reader)
}

pub(crate) struct Writer {
    ring: Producer<u64>,
    lost: Arc<AtomicU64>,
}

impl Writer {
    /// Writes a whole record, or counts it as lost.
    pub(crate) fn write(&mut self, head: Head, frames: &[usize]) {
        let Ok(chunk) = self.ring.write_chunk_uninit(1 + head.len() + frames.len()) else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let length = [frames.len() as u64];
        let frames = frames.iter().map(|&frame| frame as u64);
        chunk.fill_from_iter(length.into_iter().chain(head).chain(frames));
    }
}

pub(crate) struct Reader {
    ring: Consumer<u64>,
    lost: Arc<AtomicU64>,
    frames: Vec<usize>,
}

impl Reader {
    pub(crate) fn read(&mut self) -> Option<(Head, &[usize])> {
        let length = self.ring.pop().ok()?;
        let mut head = Head::default();
        self.ring.pop_entire_slice(&mut head).ok()?;
        let frames = self.ring.read_chunk(length as usize).ok()?;
        self.frames.clear();
        self.frames
            .extend(frames.into_iter().map(|frame| frame as usize));
        Some((head, &self.frames))
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}
