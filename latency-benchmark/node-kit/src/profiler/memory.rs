//! Finds the memory of the calling thread's stack, so that no other memory is read as a stack.
#![allow(unsafe_code, reason = "asks where the stack is, and reads words of it")]

use std::ops::Range;
use std::{io, mem, ptr};

/// The stack of a thread: all of it, even where it has yet to grow, or the part that is in use.
#[derive(Clone)]
pub(crate) struct StackRange(Range<usize>);

impl StackRange {
    /// All of the calling thread's stack.
    pub(crate) fn for_this_thread() -> io::Result<StackRange> {
        let (mut low, mut bytes) = (ptr::null_mut(), 0);
        // SAFETY: all zeros are a valid value of the attributes, which the first call fills with those of a thread that runs.
        let error = unsafe {
            let mut attributes: libc::pthread_attr_t = mem::zeroed();
            let error = libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes);
            if error == 0 {
                libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut bytes);
                libc::pthread_attr_destroy(&raw mut attributes);
            }
            error
        };
        match error {
            0 => Ok(StackRange(low.addr()..low.addr() + bytes)),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// The part from the stack pointer on, if that points into it.
    pub(crate) fn used(&self, sp: usize) -> Option<StackRange> {
        let StackRange(all) = self;
        all.contains(&sp).then_some(StackRange(sp..all.end))
    }

    /// The word at an address in the used part of the calling thread's stack.
    pub(crate) fn word(&self, address: usize) -> Option<usize> {
        let end = address.checked_add(size_of::<usize>())?;
        let is_inside = self.0.start <= address && end <= self.0.end;
        // SAFETY: the word is between the stack pointer and the upper end of the calling thread's stack.
        (is_inside && address.is_multiple_of(align_of::<usize>()))
            .then(|| unsafe { (address as *const usize).read_volatile() })
    }
}
