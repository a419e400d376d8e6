//! The sampled thread, from the perspective of the signal handler that runs on it.
#![allow(unsafe_code, reason = "only the handler accesses its data")]

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::timer::Timer;
use crate::Unobservable;
use crate::registers::Registers;
use crate::stack_writer::{Clock, StackReader, StackWriter};

/// The size of the handler's stack in units of 16 bytes, to which a stack is aligned. The alternative stack
/// of a thread is small, and unwinding needs more.
const STACK: usize = (256 << 10) / size_of::<u128>();

pub(super) struct SampledThread {
    thread_id: i32,
    interval: Duration,
    is_recording: AtomicBool,
    timer: OnceLock<Timer>,
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
    /// Prepares a timer that sends signals to the thread. They may arrive late, so this is never freed.
    pub(super) fn start(
        thread_id: i32,
        interval: Duration,
        clock: Clock,
    ) -> Result<(&'static SampledThread, StackReader), Unobservable> {
        let (stacks, samples) = StackWriter::new("stacks", clock() ^ thread_id as u64)?;
        let stack = vec![0; STACK];
        let thread: &'static SampledThread = Box::leak(Box::new(SampledThread {
            thread_id,
            interval,
            is_recording: AtomicBool::new(false),
            timer: OnceLock::new(),
            clock,
            handler: UnsafeCell::new(HandlerData { stacks, stack }),
        }));
        let timer = Timer::new(thread_id, ptr::from_ref(thread).cast())?;
        let _ = thread.timer.set(timer);
        Ok((thread, samples))
    }

    pub(super) fn set_recording(&self, recording: bool) {
        let was_recording = self.is_recording.swap(recording, Ordering::SeqCst);
        match self.timer.get() {
            Some(timer) if recording && !was_recording => timer.set(self.interval),
            Some(timer) if !recording => timer.set(Duration::ZERO),
            _ => {}
        }
    }

    /// Called in the signal handler, on the sampled thread.
    pub(super) fn on_signal(&self, context: &libc::ucontext_t) {
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
        let next = self.interval / 2 + self.interval.mul_f64(stacks.random());
        if let Some(timer) = self.timer.get() {
            timer.set(next);
        }
    }
}
