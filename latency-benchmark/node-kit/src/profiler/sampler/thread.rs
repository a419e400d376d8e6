//! The sampled thread: a timer of the kernel sends it signals, and their handler stores its stack.
#![allow(unsafe_code, reason = "data that only a signal handler uses")]

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;
use std::{mem, ptr};

use nix::errno::Errno;
use nix::sys::signal::{
    SaFlags, SigAction, SigEvent, SigHandler, SigSet, SigevNotify, Signal, sigaction,
};
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use nix::unistd::{Pid, gettid};

use crate::profiler::Unobservable;
use crate::profiler::registers::Registers;
use crate::profiler::stack_writer::{Clock, Moment, StackReader, StackWriter};

/// The size of the handler's stack in units of 16 bytes, to which a stack is aligned. The alternative stack
/// of a thread is small, and unwinding needs more.
const STACK: usize = (256 << 10) / size_of::<u128>();

pub(super) struct SampledThread {
    id: Pid,
    interval: Duration,
    is_recording: AtomicBool,
    timer: OnceLock<Mutex<Timer>>,
    pub(super) clock: Clock,
    /// Only the handler uses it, on one thread, and no use is nested in another one.
    handler: UnsafeCell<HandlerData>,
}

// SAFETY: every field except `timer` and `handler` is `Sync`. A timer is an id of this process, which any thread may use.
// The comment of `handler` is the reason for it.
unsafe impl Sync for SampledThread {}

struct HandlerData {
    stacks: StackWriter,
    stack: Vec<u128>,
}

impl SampledThread {
    /// Prepares a timer that sends signals to the calling thread. They may arrive late, so this is never freed. The signal
    /// is that of profilers, so another profiler may have it already.
    pub(super) fn start(
        interval: Duration,
        clock: Clock,
    ) -> Result<(&'static SampledThread, StackReader), Unobservable> {
        install_handler().map_err(|why| Unobservable::new("stacks", why))?;
        let id = gettid();
        let (stacks, samples) = StackWriter::new("stacks", clock() ^ id.as_raw() as u64)?;
        let stack = vec![0; STACK];
        let thread: &'static SampledThread = Box::leak(Box::new(SampledThread {
            id,
            interval,
            is_recording: AtomicBool::new(false),
            timer: OnceLock::new(),
            clock,
            handler: UnsafeCell::new(HandlerData { stacks, stack }),
        }));
        let event = SigEvent::new(SigevNotify::SigevThreadId {
            signal: Signal::SIGPROF,
            thread_id: id.as_raw(),
            si_value: ptr::from_ref(thread).expose_provenance() as isize,
        });
        let timer = Timer::new(ClockId::CLOCK_MONOTONIC, event)
            .map_err(|errno| Unobservable::new("stacks", format!("timer_create: {errno}")))?;
        let _ = thread.timer.set(Mutex::new(timer));
        Ok((thread, samples))
    }

    /// Sends one signal after a time; zero stops the timer. A signal handler calls this, which must not wait. If somebody
    /// else sets the timer just then, that is as good: if it is stopped, a signal that comes nevertheless is not recorded.
    fn set_timer(&self, after: Duration) {
        if let Some(timer) = self.timer.get()
            && let Ok(mut timer) = timer.try_lock()
        {
            // This cannot fail: the timer exists and the time is valid.
            let once = Expiration::OneShot(after.into());
            let _ = timer.set(once, TimerSetTimeFlags::empty());
        }
    }

    pub(super) fn set_recording(&self, recording: bool) {
        let was_recording = self.is_recording.swap(recording, Ordering::SeqCst);
        match (was_recording, recording) {
            (true, true) => {}
            (false, true) => self.set_timer(self.interval),
            (_, false) => self.set_timer(Duration::ZERO),
        }
    }

    /// Called in the signal handler, on the sampled thread.
    fn on_signal(&self, context: &libc::ucontext_t) {
        // A late signal may be for a thread that was sampled before.
        if gettid() != self.id || !self.is_recording.load(Ordering::SeqCst) {
            return;
        }
        let at = (self.clock)();
        // SAFETY: only this handler uses it, on this one thread, and the signal is blocked meanwhile.
        let HandlerData { stacks, stack } = unsafe { &mut *self.handler.get() };
        let (base, size) = (stack.as_mut_ptr().cast::<u8>(), size_of_val(&stack[..]));
        // SAFETY: the memory is aligned, large enough and used for nothing else; the closure does not unwind.
        unsafe { psm::on_stack(base, size, || self.sample(at, context, stacks)) };
    }

    fn sample(&self, at: u64, context: &libc::ucontext_t, stacks: &mut StackWriter) {
        let registers = Registers::interrupted(context);
        let in_kernel = stacks.code.is_in_system_call(registers.ip);
        let moment = || Moment {
            at,
            took: (self.clock)() - at,
            in_kernel,
            object: None,
        };
        stacks.write(moment, registers);

        // The interval is random, so that periodic code cannot coincide with the sampling.
        self.set_timer(self.interval / 2 + self.interval.mul_f64(stacks.random()));
    }
}

/// Installs the handler permanently, unless it is there: without it, a signal that arrives late would end the process.
fn install_handler() -> Result<(), String> {
    // SAFETY: all zeros are a valid value of this struct, and the call only writes it.
    let before = unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        libc::sigaction(libc::SIGPROF, ptr::null(), &raw mut action);
        action.sa_sigaction
    };
    if before == on_signal as *const () as usize {
        return Ok(());
    }
    if ![libc::SIG_DFL, libc::SIG_IGN].contains(&before) {
        return Err("the process already has a handler for SIGPROF".to_owned());
    }
    // The thread's own stack may be nearly full. The other one is small, so all other handlers are blocked meanwhile.
    let flags = SaFlags::SA_ONSTACK | SaFlags::SA_RESTART;
    let action = SigAction::new(SigHandler::SigAction(on_signal), flags, SigSet::all());
    // SAFETY: the handler only does what handlers may do.
    let installed = unsafe { sigaction(Signal::SIGPROF, &action) };
    installed
        .map(drop)
        .map_err(|errno| format!("the kernel accepts no handler for SIGPROF: {errno}"))
}

extern "C" fn on_signal(_signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes both.
    let (info, context) = unsafe { (&*info, &*context.cast::<libc::ucontext_t>()) };
    if info.si_code != libc::SI_TIMER {
        return;
    }
    // SAFETY: the signal of a timer has a value. Only the timers of samplers send this one, and their targets live as
    // long as the process.
    let target = unsafe { &*info.si_value().sival_ptr.cast::<SampledThread>() };
    let errno = Errno::last_raw();
    target.on_signal(context);
    Errno::set_raw(errno);
}
