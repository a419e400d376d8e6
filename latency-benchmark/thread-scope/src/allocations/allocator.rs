//! The system's allocator with a hook for counting.
#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::watched;
use crate::registers::Registers;

/// The system's allocator, which also counts what watched threads allocate. While counting is off, this costs
/// one load and one branch.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

/// All switches in one place, so that the allocator needs only one load.
static SWITCHES: AtomicU8 = AtomicU8::new(0);

static WAS_SEEN: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Switch {
    Counting = 1,
    /// Checks whether the program uses this allocator at all.
    Looking = 2,
}

impl Switch {
    pub(super) fn set(self, on: bool) {
        if on {
            SWITCHES.fetch_or(self as u8, Ordering::Relaxed);
        } else {
            SWITCHES.fetch_and(!(self as u8), Ordering::Relaxed);
        }
    }
}

/// Whether this allocator was called while [`Switch::Looking`] was on.
pub(super) fn was_seen() -> bool {
    WAS_SEEN.load(Ordering::Relaxed)
}

#[inline(always)]
fn see(memory: *mut u8, size: usize) {
    let switches = SWITCHES.load(Ordering::Relaxed);
    if switches != 0 && !memory.is_null() {
        look(switches, size);
    }
}

/// A separate function with its own frame, so that the stack begins with the allocator.
#[cold]
#[inline(never)]
fn look(switches: u8, size: usize) {
    if switches & Switch::Looking as u8 != 0 {
        WAS_SEEN.store(true, Ordering::Relaxed);
    }
    if switches & Switch::Counting as u8 != 0 {
        watched::add(size as u64, Registers::here());
    }
}

// SAFETY: all memory comes from the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees it.
        let memory = unsafe { System.alloc(layout) };
        see(memory, layout.size());
        memory
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees it.
        let memory = unsafe { System.alloc_zeroed(layout) };
        see(memory, layout.size());
        memory
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees it.
        let memory = unsafe { System.realloc(memory, layout, new_size) };
        if new_size > layout.size() {
            see(memory, new_size);
        }
        memory
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if SWITCHES.load(Ordering::Relaxed) & Switch::Counting as u8 != 0 {
            watched::add_free();
        }
        // SAFETY: the caller guarantees it.
        unsafe { System.dealloc(memory, layout) }
    }
}
