//! Tests that signals have the same effects on a recorded thread as on any other.
#![allow(unsafe_code, reason = "signals and their handlers")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::time::Duration;
use std::{mem, ptr, slice, thread};

use crate::watched::{WatchedWorker, names};

static HANDLED: AtomicUsize = AtomicUsize::new(0);
static WRITE_TO: AtomicI32 = AtomicI32::new(-1);

/// Makes system calls of its own.
extern "C" fn handle(_: c_int) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
    // SAFETY: one byte is there.
    unsafe { libc::write(WRITE_TO.load(Ordering::SeqCst), b"!".as_ptr().cast(), 1) };
}

/// Installs the handler, during which every signal is blocked.
fn install(signal: c_int, flags: c_int) {
    // SAFETY: the handler does only what a handler may.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = flags;
        libc::sigfillset(&mut action.sa_mask);
        assert_eq!(libc::sigaction(signal, &action, ptr::null_mut()), 0);
    }
}

fn send(watched: &WatchedWorker, signal: c_int) {
    // SAFETY: the thread lives for as long as `watched`.
    assert_eq!(unsafe { libc::pthread_kill(watched.id, signal) }, 0);
}

fn pipe() -> [c_int; 2] {
    let mut ends = [0; 2];
    // SAFETY: two ends are written.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    ends
}

/// Reads one byte: what `read` returned, and the error.
fn read(from: c_int) -> (isize, Option<i32>) {
    let mut byte = 0_u8;
    // SAFETY: there is room for one byte.
    let count = unsafe { libc::read(from, (&raw mut byte).cast(), 1) };
    (count, std::io::Error::last_os_error().raw_os_error())
}

#[test]
fn signals_are_handled_as_without_recording() {
    let Some(mut watched) = WatchedWorker::start() else {
        return;
    };
    let handled_bytes = pipe();
    WRITE_TO.store(handled_bytes[1], Ordering::SeqCst);
    interrupts(&mut watched, handled_bytes[0]);
    restarts(&mut watched, handled_bytes[0]);
    masks_hold(&watched);
    masks_for_a_wait_hold(&watched, handled_bytes[0]);
    handlers_of_its_own(&watched, handled_bytes[0]);
    stacks_for_signals_hold(&watched);
    many(&mut watched, handled_bytes[0]);
    switching_at_any_moment(&mut watched);
}

/// A call that waits returns EINTR, and the handler runs at once.
fn interrupts(watched: &mut WatchedWorker, handled_bytes: c_int) {
    install(libc::SIGUSR1, 0);
    let silent = pipe();
    watched.set_recording(true);
    watched.begin(Box::new(move || {
        assert_eq!(read(silent[0]), (-1, Some(libc::EINTR)));
    }));
    send_until_handled(watched, libc::SIGUSR1);
    watched.wait();
    watched.set_recording(false);
    let calls = watched.drain();
    let last = calls.last().unwrap();
    assert_eq!(names(slice::from_ref(last)), ["read"]);
    assert_eq!(last.result, -i64::from(libc::EINTR));
    assert_eq!(read(handled_bytes).0, 1);
}

/// With SA_RESTART, a waiting call continues to wait.
fn restarts(watched: &mut WatchedWorker, handled_bytes: c_int) {
    install(libc::SIGUSR1, libc::SA_RESTART);
    let awaited = pipe();
    watched.set_recording(true);
    watched.begin(Box::new(move || assert_eq!(read(awaited[0]).0, 1)));
    send_until_handled(watched, libc::SIGUSR1);
    // SAFETY: one byte is there.
    unsafe { libc::write(awaited[1], b"!".as_ptr().cast(), 1) };
    watched.wait();
    watched.set_recording(false);
    let calls = watched.drain();
    assert_eq!(calls.last().unwrap().result, 1);
    // The handler made calls while `read` was waiting, which are not recorded.
    assert!(!names(&calls).contains(&"write"), "{calls:?}");
    assert_eq!(read(handled_bytes).0, 1);
}

fn send_until_handled(watched: &WatchedWorker, signal: c_int) {
    let before = HANDLED.load(Ordering::SeqCst);
    // The thread is about to wait. Should it not wait yet, the sleep has given it the time.
    thread::sleep(Duration::from_millis(50));
    send(watched, signal);
    while HANDLED.load(Ordering::SeqCst) == before {
        std::hint::spin_loop();
    }
}

/// A signal that the thread blocks stays blocked, and arrives when the thread unblocks it.
fn masks_hold(watched: &WatchedWorker) {
    install(libc::SIGUSR1, 0);
    watched.recorded(|| {
        let before = HANDLED.load(Ordering::SeqCst);
        // SAFETY: the sets are initialised before they are used.
        unsafe {
            let mut all: libc::sigset_t = mem::zeroed();
            let mut old: libc::sigset_t = mem::zeroed();
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
            assert_eq!(libc::sigismember(&old, libc::SIGUSR1), 0);
            libc::raise(libc::SIGUSR1);
            assert!(libc::getppid() > 0);
            assert_eq!(HANDLED.load(Ordering::SeqCst), before);
            let mut pending: libc::sigset_t = mem::zeroed();
            libc::sigpending(&mut pending);
            assert_eq!(libc::sigismember(&pending, libc::SIGUSR1), 1);
            libc::pthread_sigmask(libc::SIG_SETMASK, &old, &mut all);
            assert_eq!(libc::sigismember(&all, libc::SIGUSR1), 1);
            assert_eq!(HANDLED.load(Ordering::SeqCst), before + 1);
            libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), &mut old);
            assert_eq!(libc::sigismember(&old, libc::SIGUSR1), 0);
        }
    });
}

/// With a mask for the duration of a wait, the signal arrives during the wait and not before.
fn masks_for_a_wait_hold(watched: &WatchedWorker, handled_bytes: c_int) {
    assert_eq!(read(handled_bytes).0, 1);
    install(libc::SIGUSR1, 0);
    watched.recorded(|| {
        let before = HANDLED.load(Ordering::SeqCst);
        // SAFETY: the sets are initialised before they are used.
        unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            let mut old: libc::sigset_t = mem::zeroed();
            libc::sigaddset(&mut set, libc::SIGUSR1);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut old);
            for wait in 0..3 {
                libc::raise(libc::SIGUSR1);
                assert_eq!(HANDLED.load(Ordering::SeqCst), before + wait);
                // All signals except this one, including SIGSYS.
                let mut but_this: libc::sigset_t = mem::zeroed();
                libc::sigfillset(&mut but_this);
                libc::sigdelset(&mut but_this, libc::SIGUSR1);
                let result = match wait {
                    0 => libc::sigsuspend(&but_this),
                    1 => libc::ppoll(ptr::null_mut(), 0, ptr::null(), &but_this),
                    _ => {
                        let none = ptr::null_mut();
                        libc::pselect(0, none, none, none, ptr::null(), &but_this)
                    }
                };
                assert_eq!(result, -1);
                let error = std::io::Error::last_os_error();
                assert_eq!(error.raw_os_error(), Some(libc::EINTR));
                assert_eq!(HANDLED.load(Ordering::SeqCst), before + wait + 1);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &old, ptr::null_mut());
        }
    });
    (0..3).for_each(|_| assert_eq!(read(handled_bytes).0, 1));
}

/// A handler that is installed while the thread is recorded.
fn handlers_of_its_own(watched: &WatchedWorker, handled_bytes: c_int) {
    watched.recorded(|| {
        install(libc::SIGUSR2, 0);
        let before = HANDLED.load(Ordering::SeqCst);
        // SAFETY: there is a handler.
        unsafe { libc::raise(libc::SIGUSR2) };
        assert_eq!(HANDLED.load(Ordering::SeqCst), before + 1);
    });
    assert_eq!(read(handled_bytes).0, 1);
}

/// A stack for handlers that is set and removed.
fn stacks_for_signals_hold(watched: &WatchedWorker) {
    watched.recorded(|| {
        // SAFETY: the stack is there for as long as it is in use.
        unsafe {
            let mut before: libc::stack_t = mem::zeroed();
            libc::sigaltstack(ptr::null(), &mut before);
            let mut stack = vec![0_u8; 1 << 16];
            let given = libc::stack_t {
                ss_sp: stack.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: stack.len(),
            };
            assert_eq!(libc::sigaltstack(&given, ptr::null_mut()), 0);
            let mut now: libc::stack_t = mem::zeroed();
            libc::sigaltstack(ptr::null(), &mut now);
            assert_eq!(now.ss_sp, given.ss_sp);
            assert_eq!(libc::sigaltstack(&before, ptr::null_mut()), 0);
            libc::sigaltstack(ptr::null(), &mut now);
            assert_eq!(now.ss_sp, before.ss_sp);
        }
    });
}

/// Signals at any moment of the handling of calls.
fn many(watched: &mut WatchedWorker, handled_bytes: c_int) {
    const CALLS: usize = 5000;
    const SIGNALS: usize = 500;
    install(libc::SIGUSR1, libc::SA_RESTART);
    let before = HANDLED.load(Ordering::SeqCst);
    watched.set_recording(true);
    watched.begin(Box::new(|| {
        for _ in 0..CALLS {
            // SAFETY: the call has no preconditions.
            assert!(unsafe { libc::getppid() } > 0);
        }
    }));
    for sent in 0..SIGNALS {
        send(watched, libc::SIGUSR1);
        while HANDLED.load(Ordering::SeqCst) <= before + sent {
            std::hint::spin_loop();
        }
        assert_eq!(read(handled_bytes).0, 1);
    }
    watched.wait();
    watched.set_recording(false);
    let calls = watched.drain();
    let seen = names(&calls)
        .iter()
        .filter(|name| **name == "getppid")
        .count();
    assert_eq!(seen, CALLS);
}

/// Recording begins and ends while the thread creates threads, for which it blocks every signal.
fn switching_at_any_moment(watched: &mut WatchedWorker) {
    const TIMES: usize = 300;
    /// If nothing is recorded by then, nothing ever will be.
    const PATIENCE: usize = 100_000;
    static MADE: AtomicUsize = AtomicUsize::new(0);
    static ENOUGH: AtomicBool = AtomicBool::new(false);
    watched.begin(Box::new(|| {
        while !ENOUGH.load(Ordering::SeqCst) {
            thread::spawn(|| MADE.fetch_add(1, Ordering::SeqCst))
                .join()
                .unwrap();
        }
    }));
    let mut is_seen = false;
    // The two threads need not run at once, so some switches come between calls.
    while !is_seen || MADE.load(Ordering::SeqCst) < TIMES {
        watched.set_recording(true);
        watched.set_recording(false);
        is_seen |= !watched.drain().is_empty();
        assert!(is_seen || MADE.load(Ordering::SeqCst) < PATIENCE);
    }
    ENOUGH.store(true, Ordering::SeqCst);
    watched.wait();
    watched.drain();
    let made = MADE.load(Ordering::SeqCst);
    watched.unrecorded(move || assert_eq!(MADE.load(Ordering::SeqCst), made));
    assert_eq!(watched.drain(), []);
}
