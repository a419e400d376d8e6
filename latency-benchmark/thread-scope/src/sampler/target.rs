//! The thread that is sampled, as the signal handler on it sees it.
#![allow(
    unsafe_code,
    reason = "the handler is the only one that works with what it alone has"
)]

use std::{
    cell::UnsafeCell,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};

use super::timer::Timer;
use crate::{
    Clock,
    code::Code,
    memory::Memory,
    record::Writer,
    registers::Registers,
    walk::{self, Cache, FRAMES},
};

/// The alternative stack of a thread is small, and unwinding takes some. In units of 16 bytes, to
/// which a stack is aligned.
const STACK: usize = (256 << 10) / size_of::<u128>();

pub(super) struct Target {
    thread_id: i32,
    interval: Duration,
    is_recording: AtomicBool,
    timer: OnceLock<Timer>,
    clock: Clock,
    code: Code,
    memory: Memory,
    /// Only the handler uses it, on one thread, and never inside itself.
    work: UnsafeCell<Work>,
}

// SAFETY: all but `work` is, and of that says the field.
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

struct Work {
    random: SmallRng,
    cache: Cache,
    frames: [usize; FRAMES],
    writer: Writer<2>,
    stack: Vec<u128>,
}

impl Target {
    pub(super) fn new(
        thread_id: i32,
        interval: Duration,
        clock: Clock,
        memory: Memory,
        writer: Writer<2>,
    ) -> Target {
        let seed = clock() ^ thread_id as u64;
        Target {
            thread_id,
            interval,
            is_recording: AtomicBool::new(false),
            timer: OnceLock::new(),
            clock,
            code: Code::read(),
            memory,
            work: UnsafeCell::new(Work {
                random: SmallRng::seed_from_u64(seed),
                cache: Cache::new_in(),
                frames: [0; FRAMES],
                writer,
                stack: vec![0; STACK],
            }),
        }
    }

    /// The timer by which the thread gets its signals.
    pub(super) fn has(&self, timer: Timer) {
        let _ = self.timer.set(timer);
    }

    pub(super) fn set_recording(&self, recording: bool) {
        let was_recording = self.is_recording.swap(recording, Ordering::SeqCst);
        match self.timer.get() {
            Some(timer) if recording && !was_recording => timer.arm(self.interval),
            Some(timer) if !recording => timer.disarm(),
            _ => {}
        }
    }

    /// In the signal handler, on the thread itself.
    pub(super) fn on_signal(&self, context: &libc::ucontext_t) {
        // SAFETY: has no precondition.
        let this_thread = unsafe { libc::gettid() };
        // A signal for who had this place before.
        if this_thread != self.thread_id || !self.is_recording.load(Ordering::SeqCst) {
            return;
        }
        let at = (self.clock)();
        // SAFETY: on the one thread whose handler does this, and the signal is blocked meanwhile.
        let work = unsafe { &mut *self.work.get() };
        let Work { stack, .. } = work;
        let (base, size) = (stack.as_mut_ptr().cast::<u8>(), size_of_val(&stack[..]));
        // SAFETY: the memory is aligned, large enough and used for nothing else; nothing in it unwinds.
        unsafe { psm::on_stack(base, size, || self.sample(at, context, work)) };
    }

    fn sample(&self, at: u64, context: &libc::ucontext_t, work: &mut Work) {
        let registers = Registers::interrupted(context);
        let is_in_kernel = self.code.is_in_system_call(registers.ip);
        work.frames[0] = registers.ip;
        let found = match self.memory.stack_of_this_thread(registers.sp) {
            Some(stack) => {
                let (cache, frames) = (&mut work.cache, &mut work.frames);
                walk::walk(registers, &stack, &self.code, cache, frames)
            }
            None => 1,
        };
        let head = [at, is_in_kernel.into()];
        work.writer.write(head, &work.frames[..found]);

        // Never twice the same, so that it keeps step with nothing.
        let half = self.interval / 2;
        let next = half + self.interval.mul_f64(work.random.random());
        if let Some(timer) = self.timer.get() {
            timer.arm(next);
        }
    }
}
