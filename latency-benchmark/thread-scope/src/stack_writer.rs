//! Walks the calling thread's stack and writes its frames to a ring.

use framehop::{
    CacheNative, FrameAddress, MustNotAllocateDuringUnwind, UnwindRegsNative, Unwinder as _,
};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

use crate::Unobservable;
use crate::code::Code;
use crate::memory::{Memory, StackRange};
use crate::record::{self, Head, Reader, Writer};
use crate::registers::Registers;

/// A clock of the caller. Signal handlers and the allocator call it.
pub(crate) type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// The maximum number of frames of a stack. Of a deeper stack, only the innermost frames are kept.
const FRAMES: usize = 256;

/// Works in signal handlers and in the allocator: after its creation it neither allocates nor waits.
pub(crate) struct StackWriter {
    random: SmallRng,
    pub(crate) code: Code,
    memory: Memory,
    cache: CacheNative<MustNotAllocateDuringUnwind>,
    frames: [usize; FRAMES],
    writer: Writer,
}

impl StackWriter {
    /// A writer, and the reader of its records. An error says that `what` cannot be observed.
    pub(crate) fn new(what: &str, seed: u64) -> Result<(StackWriter, Reader), Unobservable> {
        let memory = Memory::read().map_err(|error| {
            Unobservable::new(what, format!("/proc/self/maps cannot be read: {error}"))
        })?;
        let (writer, reader) = record::records();
        let writer = StackWriter {
            random: SmallRng::seed_from_u64(seed),
            code: Code::read(),
            memory,
            cache: CacheNative::new_in(),
            frames: [0; FRAMES],
            writer,
        };
        Ok((writer, reader))
    }

    /// Writes one record: `head`, which is made last, and the frames without the innermost `skipped`. If the thread is
    /// not on its own stack, there is only one frame, `registers.ip`.
    pub(crate) fn write(
        &mut self,
        head: impl FnOnce() -> Head,
        registers: Registers,
        skipped: usize,
    ) {
        self.frames[0] = registers.ip;
        let stack = self.memory.stack_of_this_thread(registers.sp);
        let found = stack.map_or(1, |stack| self.walk(registers, &stack));
        self.writer.write(head(), &self.frames[skipped..found]);
    }

    /// A random number from 0 up to, but not including, 1.
    pub(crate) fn random(&mut self) -> f64 {
        self.random.random()
    }

    /// Stores the addresses of the frames, innermost first, and returns their number. The first address is the
    /// thread's position, the others are return addresses.
    ///
    /// The program needs no frame pointers for that; with them, its code would differ from the code of the programs that
    /// it represents.
    fn walk(&mut self, interrupted: Registers, stack: &StackRange) -> usize {
        let mut found = 1;
        let mut registers = interrupted.to_unwind();
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
            self.frames[found] = next;
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
