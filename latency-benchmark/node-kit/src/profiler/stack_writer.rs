//! Walks the calling thread's stack and writes its frames to a ring, which another thread reads.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use framehop::{
    CacheNative, FrameAddress, MustNotAllocateDuringUnwind, UnwindRegsNative, Unwinder as _,
};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::profiler::Unobservable;
use crate::profiler::code::Code;
use crate::profiler::memory::StackRange;
use crate::profiler::registers::Registers;

/// A clock of the caller. Signal handlers and the allocator call it.
pub(crate) type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// The maximum number of frames of a stack. If a stack is deeper, only the innermost frames are kept.
const FRAMES: usize = 256;

/// The number of stacks that the ring has room for. That takes 16 MiB at most, because the kernel gives memory when it is
/// written.
const STACKS: usize = 1 << 13;

/// A thread's stack at one moment.
#[derive(Clone, Debug)]
pub struct StackSample {
    /// The time and the reason of the sample.
    pub moment: Moment,
    /// The thread's position, followed by the return addresses of the calling functions, innermost first. There are at
    /// most 256. If the thread was not on its own stack, there is only the position. At an allocation, the position is in the
    /// allocator.
    pub frames: Vec<usize>,
}

/// A moment at which a timer sent a signal, or at which the thread allocated an object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// The time on the clock of the caller.
    pub at: u64,
    /// The time for which a signal kept the thread from its work. The kernel's part is in it only if it was
    /// [timed](crate::profiler::StackSampler::time_signals). It is 0 at an allocation.
    pub took: u64,
    /// Whether a signal found the thread in a system call.
    pub in_kernel: bool,
    /// The allocated object.
    pub object: Option<SampledObject>,
}

/// An object that represents others.
#[derive(Clone, Copy, Debug)]
pub struct SampledObject {
    /// The requested number of bytes.
    pub size: u64,
    /// The number of objects that this one represents. Every object has the same chance to be sampled, one in this number, so
    /// sums of these numbers are right on average.
    pub stands_for: u64,
}

#[derive(Clone, Copy)]
struct Stack {
    moment: Moment,
    found: usize,
    frames: [usize; FRAMES],
}

/// Writes stacks of one thread, in signal handlers and in the allocator: after its creation it neither allocates nor waits.
pub(crate) struct StackWriter {
    random: SmallRng,
    pub(crate) code: Code,
    thread: StackRange,
    cache: CacheNative<MustNotAllocateDuringUnwind>,
    stack: Stack,
    ring: Producer<Stack>,
    lost: Arc<AtomicU64>,
}

/// Reads the samples of a thread, on any thread.
pub struct StackReader {
    ring: Consumer<Stack>,
    lost: Arc<AtomicU64>,
}

impl StackReader {
    /// Takes the samples since the last call, in their order.
    pub fn take(&mut self) -> impl Iterator<Item = StackSample> {
        iter::from_fn(move || {
            let stack = self.ring.pop().ok()?;
            Some(StackSample {
                moment: stack.moment,
                frames: stack.frames[..stack.found].to_vec(),
            })
        })
    }

    /// The number of samples that were lost because the buffer was full.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl StackWriter {
    /// Makes a writer for stacks of the calling thread, and their reader. An error says that `what` cannot be observed.
    pub(crate) fn new(what: &str, seed: u64) -> Result<(StackWriter, StackReader), Unobservable> {
        let thread = StackRange::for_this_thread().map_err(|error| {
            Unobservable::new(what, format!("it is unknown where the stack is: {error}"))
        })?;
        let (filling, emptying) = RingBuffer::new(STACKS);
        let lost = Arc::default();
        let reader = StackReader {
            ring: emptying,
            lost: Arc::clone(&lost),
        };
        let writer = StackWriter {
            random: SmallRng::seed_from_u64(seed),
            code: Code::read(),
            thread,
            cache: CacheNative::new_in(),
            stack: Stack {
                moment: Moment::default(),
                found: 0,
                frames: [0; FRAMES],
            },
            ring: filling,
            lost,
        };
        Ok((writer, reader))
    }

    /// Writes one stack, or counts it as lost. `moment` is called last. If the thread is not on its own stack, there is only
    /// one frame, `registers.ip`.
    pub(crate) fn write(&mut self, moment: impl FnOnce() -> Moment, registers: Registers) {
        self.stack.frames[0] = registers.ip;
        let stack = self.thread.used(registers.sp());
        self.stack.found = stack.map_or(1, |stack| self.walk(registers, &stack));
        self.stack.moment = moment();
        if self.ring.push(self.stack).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A random number from 0 up to, but not including, 1.
    pub(crate) fn random(&mut self) -> f64 {
        self.random.random()
    }

    /// Stores the addresses of the frames, innermost first, and returns their number. The first address is the
    /// thread's position, the others are return addresses.
    ///
    /// This needs no frame pointers. If the program had them, its code would differ from that of the programs that it
    /// represents.
    fn walk(&mut self, interrupted: Registers, stack: &StackRange) -> usize {
        let mut found = 1;
        let mut registers = interrupted.unwound;
        let mut address = FrameAddress::from_instruction_pointer(interrupted.ip as u64);
        while found < FRAMES {
            let sp = registers.sp();
            let Some(next) = self.caller(address, &mut registers, stack) else {
                break;
            };
            // The caller's frame is above. Only the innermost function may have nothing on the stack.
            if registers.sp() < sp || (registers.sp() == sp && found > 1) {
                break;
            }
            let Some(outer) = FrameAddress::from_return_address(next as u64) else {
                break;
            };
            self.stack.frames[found] = next;
            found += 1;
            address = outer;
        }
        found
    }

    fn caller(
        &mut self,
        address: FrameAddress,
        registers: &mut UnwindRegsNative,
        stack: &StackRange,
    ) -> Option<usize> {
        let mut read = |address: u64| {
            let word = stack.word(address as usize).ok_or(())?;
            Ok(word as u64)
        };
        let (unwinder, cache) = (&self.code.unwinder, &mut self.cache);
        let caller = unwinder.unwind_frame(address, registers, cache, &mut read);
        caller.ok()?.map(|caller| caller as usize)
    }
}
