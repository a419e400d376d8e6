//! The limits that a shell sets (`ulimit`) end a program in one line, not by a signal.
#![allow(
    unsafe_code,
    reason = "ignores a signal, which has no handler; and an allocator that asks the system's"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Write};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::sys::signal::{SigHandler, Signal, signal};

/// From now on, writing more to a file than `ulimit -f` allows is an error, as on a full disk.
pub fn fail_on_large_files() {
    // SAFETY: to ignore a signal runs no code in a handler.
    let ignored = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) };
    // Where that fails, the signal ends the program as before.
    let _ = ignored;
}

/// The system's allocator. Where it has nothing left, the program ends with a line, which Rust's abort does not have.
pub struct OrEnd;

// SAFETY: what is returned is the system's, and never null.
unsafe impl GlobalAlloc for OrEnd {
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
    // Another thread that has no memory either waits for the end.
    while IS_SAID.swap(true, Ordering::Relaxed) {
        thread::park();
    }
    // Whatever prints text may need memory itself. There is nowhere to say that this could not be written.
    let _ = io::stderr().write_all(LINE);
    process::exit(1);
}
