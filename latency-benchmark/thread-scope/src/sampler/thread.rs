//! The sampled thread: a timer of the kernel sends it signals, and their handler stores its stack.
#![allow(
    unsafe_code,
    reason = "a timer, and data that only a signal handler uses"
)]

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::Duration;
use std::{mem, ptr};

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigSet, Signal};

use crate::registers::Registers;
use crate::stack_writer::{Clock, StackReader, StackWriter};
use crate::{Unobservable, signal_handler};

/// The size of the handler's stack in units of 16 bytes, to which a stack is aligned. The alternative stack
/// of a thread is small, and unwinding needs more.
const STACK: usize = (256 << 10) / size_of::<u128>();

pub(super) struct SampledThread {
    thread_id: i32,
    interval: Duration,
    is_recording: AtomicBool,
    /// A `timer_t`, which is set before anything else here is used.
    timer: AtomicPtr<c_void>,
    pub(super) clock: Clock,
    /// Only the handler uses it, on one thread, and no use is nested in another one.
    handler: UnsafeCell<HandlerData>,
}

// SAFETY: every field except `handler` is `Sync`. The field's comment is the reason for it.
unsafe impl Sync for SampledThread {}

struct HandlerData {
    stacks: StackWriter,
    stack: Vec<u128>,
}

impl SampledThread {
    /// Prepares a timer that sends signals to the thread. They may arrive late, so this is never freed. The signal is that
    /// of profilers, so another profiler may have it already.
    pub(super) fn start(
        thread_id: i32,
        interval: Duration,
        clock: Clock,
    ) -> Result<(&'static SampledThread, StackReader), Unobservable> {
        // The thread's own stack may be nearly full. The other one is small, so all other handlers are blocked meanwhile.
        let (flags, blocked) = (SaFlags::SA_ONSTACK, SigSet::all());
        signal_handler::install("stacks", Signal::SIGPROF, on_signal, flags, blocked)?;
        let (stacks, samples) = StackWriter::new("stacks", clock() ^ thread_id as u64)?;
        let stack = vec![0; STACK];
        let thread: &'static SampledThread = Box::leak(Box::new(SampledThread {
            thread_id,
            interval,
            is_recording: AtomicBool::new(false),
            timer: AtomicPtr::new(ptr::null_mut()),
            clock,
            handler: UnsafeCell::new(HandlerData { stacks, stack }),
        }));
        thread.create_timer().map_err(|errno| {
            let why = match errno {
                Errno::EINVAL => format!("this process has no thread {thread_id}"),
                errno => format!("timer_create: {errno}"),
            };
            Unobservable::new("stacks", why)
        })?;
        Ok((thread, samples))
    }

    /// Every signal carries a pointer to this.
    fn create_timer(&'static self) -> nix::Result<()> {
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: all zeros are a valid value of this struct, and both pointers are valid for the call.
        let result = unsafe {
            let mut event: libc::sigevent = mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_notify_thread_id = self.thread_id;
            event.sigev_signo = libc::SIGPROF;
            event.sigev_value.sival_ptr = ptr::from_ref(self).cast_mut().cast();
            libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer)
        };
        Errno::result(result)?;
        self.timer.store(timer, Ordering::SeqCst);
        Ok(())
    }

    /// Sends one signal after a time; zero stops the timer. A signal handler may call this.
    fn set_timer(&self, after: Duration) {
        // SAFETY: all zeros are a valid value of this struct. The call cannot fail: the timer exists and the time is valid.
        unsafe {
            let mut time: libc::itimerspec = mem::zeroed();
            time.it_value.tv_sec = after.as_secs() as libc::time_t;
            time.it_value.tv_nsec = after.subsec_nanos().into();
            let timer = self.timer.load(Ordering::SeqCst);
            libc::timer_settime(timer, 0, &raw const time, ptr::null_mut());
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
        // SAFETY: the call has no precondition.
        let this_thread = unsafe { libc::gettid() };
        // Otherwise the signal is for a thread that was sampled before.
        if this_thread != self.thread_id || !self.is_recording.load(Ordering::SeqCst) {
            return;
        }
        let at = (self.clock)();
        // SAFETY: only this handler uses it, on this one thread, and the signal is blocked meanwhile.
        let HandlerData { stacks, stack } = unsafe { &mut *self.handler.get() };
        let (base, size) = (stack.as_mut_ptr().cast::<u8>(), size_of_val(&stack[..]));
        // SAFETY: the memory is aligned, large enough and used for nothing else; the closure does not
        // unwind.
        unsafe { psm::on_stack(base, size, || self.sample(at, context, stacks)) };
    }

    fn sample(&self, at: u64, context: &libc::ucontext_t, stacks: &mut StackWriter) {
        let registers = Registers::interrupted(context);
        let is_in_kernel = stacks.code.is_in_system_call(registers.ip);
        let head = || [at, is_in_kernel.into(), (self.clock)() - at];
        stacks.write(head, registers, 0);

        // Random, so that periodic code cannot coincide with the sampling.
        self.set_timer(self.interval / 2 + self.interval.mul_f64(stacks.random()));
    }
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
