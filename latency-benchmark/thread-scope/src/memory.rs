//! Finds the stacks of this process's threads, so that no other memory is read as a stack.
#![allow(unsafe_code, reason = "reads words of the calling thread's stack")]

use std::ops::Range;
use std::{fs, io};

use nix::sys::resource::{Resource, getrlimit};

/// The readable and writable memory of this process at one moment. It does not contain the stacks of threads
/// that are started later.
pub(crate) struct Memory {
    /// Sorted by address.
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
                // It grows downwards while the thread runs, up to the limit.
                let low = region.start.min(region.end.saturating_sub(stack_limit()));
                memory.main_stack = Some(low..region.end);
            } else if permissions.starts_with("rw") {
                memory.writable.push(region);
            }
        }
        Ok(memory)
    }

    /// The calling thread's stack, if `sp` points into it. Neither allocates nor waits.
    pub(crate) fn stack_of_this_thread(&self, sp: usize) -> Option<StackRange> {
        if let Some(stack) = &self.main_stack
            && stack.contains(&sp)
        {
            return Some(StackRange(sp..stack.end));
        }
        // The stack of every other thread ends with the thread's control block, to which the thread's id
        // points. Everything below it belongs to the stack, even if the kernel shows neighbouring memory as
        // the same region.
        // SAFETY: the call has no precondition.
        let control_block = unsafe { libc::pthread_self() } as usize;
        let after = self.writable.partition_point(|region| region.end <= sp);
        let region = self.writable.get(after)?;
        let holds_both = region.contains(&sp) && region.contains(&control_block);
        (holds_both && sp < control_block).then_some(StackRange(sp..control_block))
    }
}

fn region(line: &str) -> Option<(Range<usize>, &str)> {
    let mut fields = line.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    Some((start..end, fields.next()?))
}

/// The largest possible size of the main thread's stack in bytes.
fn stack_limit() -> usize {
    /// Used if there is no limit.
    const SENSIBLE: usize = 1 << 30;
    let limit = getrlimit(Resource::RLIMIT_STACK).map_or(0, |(limit, _)| limit);
    usize::try_from(limit).map_or(SENSIBLE, |bytes| bytes.min(SENSIBLE))
}

/// The used part of the calling thread's stack.
pub(crate) struct StackRange(Range<usize>);

impl StackRange {
    /// The word at an address, if the address is in the stack.
    pub(crate) fn word(&self, address: usize) -> Option<usize> {
        let end = address.checked_add(size_of::<usize>())?;
        let is_inside = self.0.start <= address && end <= self.0.end;
        // SAFETY: the word is between the stack pointer and the upper end of the calling thread's stack.
        (is_inside && address.is_multiple_of(align_of::<usize>()))
            .then(|| unsafe { (address as *const usize).read_volatile() })
    }
}
