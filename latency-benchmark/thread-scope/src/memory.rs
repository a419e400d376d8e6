//! Where the stacks of this process's threads are, so that nothing else is read as one.
#![allow(
    unsafe_code,
    reason = "reads words of the own stack, and the limit of the main thread's"
)]

use std::{fs, io, mem::MaybeUninit, ops::Range};

/// The readable and writable memory of this process at one moment. What a thread runs on that was
/// started later is not in it.
pub(crate) struct Memory {
    /// In order of addresses.
    writable: Vec<Range<usize>>,
    main_stack: Option<Range<usize>>,
}

impl Memory {
    pub(crate) fn read() -> io::Result<Memory> {
        let mut memory = Memory {
            writable: Vec::new(),
            main_stack: None,
        };
        for line in fs::read_to_string("/proc/self/maps")?.lines() {
            let Some((region, permissions)) = region(line) else {
                continue;
            };
            if line.ends_with("[stack]") {
                // Grows downwards while the thread runs, as far as the limit allows.
                let low = region.start.min(region.end.saturating_sub(stack_limit()));
                memory.main_stack = Some(low..region.end);
            } else if permissions.starts_with("rw") {
                memory.writable.push(region);
            }
        }
        Ok(memory)
    }

    /// The stack on which `sp` lies, of the calling thread. Neither allocates nor waits.
    pub(crate) fn stack_of_this_thread(&self, sp: usize) -> Option<Stack> {
        if let Some(stack) = &self.main_stack
            && stack.contains(&sp)
        {
            return Some(Stack(sp..stack.end));
        }
        // The stack of every other thread ends with the thread's own control block, to which its id
        // points: what lies between is the stack's, also where the kernel shows neighbours as one.
        // SAFETY: has no precondition.
        let control_block = unsafe { libc::pthread_self() } as usize;
        let after = self.writable.partition_point(|region| region.end <= sp);
        let region = self.writable.get(after)?;
        let holds_both = region.contains(&sp) && region.contains(&control_block);
        (holds_both && sp < control_block).then_some(Stack(sp..control_block))
    }
}

fn region(line: &str) -> Option<(Range<usize>, &str)> {
    let mut fields = line.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    Some((start..end, fields.next()?))
}

/// How large the main thread's stack may become, in bytes; a limit where there is none.
fn stack_limit() -> usize {
    const SENSIBLE: usize = 1 << 30;
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: the pointer is to a limit's room.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_STACK, limit.as_mut_ptr()) };
    if result != 0 {
        return 0;
    }
    // SAFETY: was filled, as the call says.
    let limit = unsafe { limit.assume_init() };
    usize::try_from(limit.rlim_cur).map_or(SENSIBLE, |bytes| bytes.min(SENSIBLE))
}

/// The part of the calling thread's stack that is in use.
pub(crate) struct Stack(Range<usize>);

impl Stack {
    /// The word at an address, if that is in the stack.
    pub(crate) fn word(&self, address: usize) -> Option<usize> {
        let end = address.checked_add(size_of::<usize>())?;
        let is_inside = self.0.start <= address && end <= self.0.end;
        // SAFETY: between the stack pointer and the stack's upper end, of the thread that runs this.
        (is_inside && address.is_multiple_of(align_of::<usize>()))
            .then(|| unsafe { (address as *const usize).read_volatile() })
    }
}
