//! A program that reaches a limit of the shell (`ulimit`) ends with one line on standard error, and not by a signal.
#![allow(
    unsafe_code,
    reason = "ignores a signal, which runs no handler; and wraps the system's allocator"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Write};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::sys::signal::{SigHandler, Signal, signal};

/// From now on, writing more to a file than `ulimit -f` allows is an error, as on a full disk.
pub fn fail_on_large_files() {
    // If this fails, the signal ends the program as before.
    // SAFETY: to ignore a signal runs no code in a handler.
    let _ = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) };
}

/// The system's allocator. If no memory is left, the program says so in one line and ends with exit code 1. Without it, Rust
/// would end the program by a signal, SIGABRT, and name the bytes of the allocation but no remedy.
pub struct EndWhenOutOfMemory;

// SAFETY: all memory is the system allocator's, and a null pointer is never returned.
unsafe impl GlobalAlloc for EndWhenOutOfMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the system allocator's, too.
        or_end(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        or_end(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, from: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        or_end(unsafe { System.realloc(from, layout, size) })
    }

    unsafe fn dealloc(&self, from: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(from, layout) }
    }
}

#[inline]
fn or_end(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        end();
    }
    memory
}

#[cold]
fn end() -> ! {
    const LINE: &[u8] = b"error: there is not enough memory (`ulimit -v` may be the limit)\n";
    static IS_SAID: AtomicBool = AtomicBool::new(false);
    // Another thread that has no memory either waits until this one has ended the process.
    while IS_SAID.swap(true, Ordering::Relaxed) {
        thread::park();
    }
    // This writes without memory. If it fails, there is nowhere to say so.
    let _ = io::stderr().write_all(LINE);
    process::exit(1);
}
