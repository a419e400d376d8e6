//! From where a thread was interrupted outwards.

use framehop::{
    CacheNative, FrameAddress, MustNotAllocateDuringUnwind, UnwindRegsNative, Unwinder as _,
};

use crate::{code::Code, memory::Stack, registers::Registers};

/// As many frames as are kept of a stack, the innermost.
pub(crate) const FRAMES: usize = 256;

pub(crate) type Cache = CacheNative<MustNotAllocateDuringUnwind>;

/// Writes the addresses of the frames, innermost first, and returns how many there are. The first is
/// where the thread was, the others are where it returns to.
///
/// The way out of a function is what compilers note for exceptions, in code of libc and in assembly, too.
/// So nothing has to be built with frame pointers, which would make it other code than that of the
/// programs it stands for.
pub(crate) fn walk(
    interrupted: Registers,
    stack: &Stack,
    code: &Code,
    cache: &mut Cache,
    frames: &mut [usize; FRAMES],
) -> usize {
    frames[0] = interrupted.ip;
    let mut found = 1;
    let mut registers = interrupted.to_unwind();
    let mut address = FrameAddress::from_instruction_pointer(interrupted.ip as u64);
    while found < FRAMES {
        let sp = registers.sp();
        let next = caller(address, &mut registers, stack, code, cache);
        let Some(next) = next else { break };
        // Outwards is upwards. Only the innermost function may have nothing on the stack.
        if registers.sp() < sp || (registers.sp() == sp && found > 1) {
            break;
        }
        let Some(outer) = FrameAddress::from_return_address(next as u64) else {
            break;
        };
        frames[found] = next;
        found += 1;
        address = outer;
    }
    found
}

fn caller(
    address: FrameAddress,
    registers: &mut UnwindRegsNative,
    stack: &Stack,
    code: &Code,
    cache: &mut Cache,
) -> Option<usize> {
    let mut read = |address: u64| {
        let word = stack.word(address as usize).ok_or(())?;
        Ok(word as u64)
    };
    let caller = code
        .unwinder
        .unwind_frame(address, registers, cache, &mut read);
    caller.ok()?.map(|caller| caller as usize)
}
