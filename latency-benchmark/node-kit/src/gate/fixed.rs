//! Random numbers and time that are the same in every run. In a program that counts for `--gate`, each function here takes the
//! place of the function of the C library with its name.
#![allow(unsafe_code, reason = "their arguments are those of the C library")]
#![allow(missing_docs, clippy::missing_safety_doc)] // They are documented there.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

pub use libc::{clockid_t, epoll_event, timespec};

const SECOND: u64 = 1_000_000_000;
/// The time that passes with each look at a clock of the whole machine, in ns.
const LOOK: u64 = 1_000;
const BEGIN: u64 = 1_000_000 * SECOND;

thread_local! {
    /// The time in ns, or 0 while time is real.
    static NOW: Cell<u64> = const { Cell::new(0) };
    static DRAWN: Cell<u64> = const { Cell::new(0) };
}

/// From now on, time passes on this thread only when the thread looks at a clock of the machine or waits for a timer.
pub(crate) fn hold_time() {
    NOW.set(BEGIN);
}

pub unsafe fn getrandom(buffer: *mut c_void, length: usize) -> isize {
    // SAFETY: the caller has a buffer of that length.
    let buffer = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length) };
    for byte in buffer {
        // This is the generator splitmix64.
        let state = DRAWN.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        DRAWN.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        *byte = (mixed ^ (mixed >> 31)) as u8;
    }
    length as isize
}

pub unsafe fn clock_gettime(clock: clockid_t, to: *mut timespec) -> c_int {
    let now = NOW.try_with(Cell::get).unwrap_or(0);
    if now == 0 {
        // SAFETY: the arguments are the caller's.
        return unsafe { libc::syscall(libc::SYS_clock_gettime, clock, to) } as c_int;
    }
    // The probe looks at a thread's clock more often if the thread was interrupted, and that depends on the machine.
    if matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC) {
        NOW.set(now + LOOK);
    }
    let time = timespec {
        tv_sec: (now / SECOND) as _,
        tv_nsec: (now % SECOND) as _,
    };
    // SAFETY: the caller has room for it.
    unsafe { to.write(time) };
    0
}

/// If nothing is ready, time jumps to the next timer. Nothing can become ready before it, because bytes that a pipe takes are
/// at its other end at once.
pub unsafe fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout_ms: c_int,
) -> c_int {
    // Without a timer, the timeout is negative, and this waits for ever.
    let waits = match NOW.get() {
        0 => timeout_ms,
        _ => timeout_ms.min(0),
    };
    // SAFETY: the arguments are the caller's, and no signal mask is given.
    let ready = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait,
            epoll,
            events,
            most,
            waits,
            0_usize,
            8_usize,
        )
    };
    if ready == 0 && timeout_ms > 0 && NOW.get() > 0 {
        NOW.set(NOW.get() + timeout_ms as u64 * 1_000_000);
    }
    ready as c_int
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now_ns(clock: clockid_t) -> i64 {
        let mut time = timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: there is room for the time.
        let failed = unsafe { clock_gettime(clock, &raw mut time) };
        assert_eq!(failed, 0);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    #[test]
    fn time_passes_with_looks_at_the_machines_clocks_alone() {
        hold_time();
        let begun_ns = now_ns(libc::CLOCK_MONOTONIC);
        for _ in 0..3 {
            now_ns(libc::CLOCK_THREAD_CPUTIME_ID);
        }
        assert_eq!(now_ns(libc::CLOCK_MONOTONIC), begun_ns + LOOK as i64);
        assert_eq!(now_ns(libc::CLOCK_REALTIME), begun_ns + 2 * LOOK as i64);
    }
}
