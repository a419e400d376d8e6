//! Walks the calling thread's stack and writes its frames to a ring, which another thread reads.
#![allow(unsafe_code, reason = "walks the stack in signal handlers")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use backtrace::Frame;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use rtrb::{Consumer, Producer, RingBuffer};

/// A clock of the caller. Signal handlers and the allocator call it.
pub(crate) type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// The maximum number of frames of a stack. Of a deeper stack, only the innermost frames are kept.
const FRAMES: usize = 256;

/// How many stacks the ring has room for, in 16 MiB. Memory is taken when it is written.
const STACKS: usize = 1 << 13;

/// What belongs to a stack.
pub(crate) type Head = [u64; 3];

#[derive(Clone, Copy)]
struct Stack {
    head: Head,
    end: usize,
    frames: [usize; FRAMES],
}

/// Works in signal handlers and in the allocator: after its creation it neither allocates nor waits.
pub(crate) struct StackWriter {
    random: SmallRng,
    stack: Stack,
    ring: Producer<Stack>,
    lost: Arc<AtomicU64>,
}

pub(crate) struct StackReader {
    ring: Consumer<Stack>,
    lost: Arc<AtomicU64>,
}

impl StackReader {
    /// Passes the stacks since the last call to `each`, in their order.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(Head, &[usize])) {
        while let Ok(stack) = self.ring.pop() {
            each(stack.head, &stack.frames[..stack.end]);
        }
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl StackWriter {
    pub(crate) fn new(seed: u64) -> (StackWriter, StackReader) {
        let (filling, emptying) = RingBuffer::new(STACKS);
        let lost = Arc::default();
        let reader = StackReader {
            ring: emptying,
            lost: Arc::clone(&lost),
        };
        let mut writer = StackWriter {
            random: SmallRng::seed_from_u64(seed),
            stack: Stack {
                head: [0; 3],
                end: 0,
                frames: [0; FRAMES],
            },
            ring: filling,
            lost,
        };
        // The first walk loads what later ones use.
        writer.walk(|_| true);
        (writer, reader)
    }

    /// Writes one stack, or counts it as lost: `head`, which is made last, and the addresses of the frames from the one
    /// that `is_first` on. If there is none, the only address is `position`.
    pub(crate) fn write(
        &mut self,
        position: usize,
        is_first: impl Fn(&Frame) -> bool,
        head: impl FnOnce() -> Head,
    ) {
        self.stack.frames[0] = position;
        self.stack.end = self.walk(is_first).max(1);
        self.stack.head = head();
        if self.ring.push(self.stack).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A random number from 0 up to, but not including, 1.
    pub(crate) fn random(&mut self) -> f64 {
        self.random.random()
    }

    /// Stores the addresses of the frames, innermost first, and returns their number. An address is where the thread was
    /// interrupted, or a return address.
    ///
    /// The walk uses the tables that compilers write for exceptions. Libc and assembly have them too. So the program needs
    /// no frame pointers; with them, its code would differ from the code of the programs that it represents.
    fn walk(&mut self, is_first: impl Fn(&Frame) -> bool) -> usize {
        let (mut found, frames) = (0, &mut self.stack.frames);
        let see = |frame: &Frame| {
            let address = frame.ip().addr();
            if address != 0 && (found > 0 || is_first(frame)) {
                frames[found] = address;
                found += 1;
            }
            found < FRAMES
        };
        // SAFETY: what the call may not share with other threads is used for looking up names, and here nothing is looked up.
        unsafe { backtrace::trace_unsynchronized(see) };
        found
    }
}
