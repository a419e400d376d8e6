//! The system's allocator with a hook for counting.
#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

use super::watched;
use crate::profiler::registers::Registers;

/// The system's allocator, which also counts the allocations of watched threads. While counting is off, this costs one load
/// and one branch.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

/// Whether watched threads count.
pub(super) static COUNTING: AtomicBool = AtomicBool::new(false);

/// Whether this allocator was called while it counted, so that the program uses it at all.
pub(super) static WAS_CALLED: AtomicBool = AtomicBool::new(false);

#[inline(always)]
fn see(memory: *mut u8, size: usize) {
    if COUNTING.load(Ordering::Relaxed) && !memory.is_null() {
        count(size);
    }
}

/// A separate function with its own frame, so that the stack begins with the allocator.
#[cold]
#[inline(never)]
fn count(size: usize) {
    WAS_CALLED.store(true, Ordering::Relaxed);
    if let Some(sampled) = watched::add(size as u64) {
        sampled.take_stack(size as u64, Registers::here());
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
        // SAFETY: the caller guarantees it.
        unsafe { System.dealloc(memory, layout) }
    }
}
