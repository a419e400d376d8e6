//! Samples one thread's stack, by wall-clock time.

mod signal;
mod target;
mod timer;

use std::time::Duration;

use self::{signal::Registered, target::Target, timer::Timer};
use crate::{
    Unavailable,
    memory::Memory,
    record::{self, Reader},
};

/// Looks at a thread's stack in random intervals, also while the thread sleeps or is in the kernel.
///
/// A timer sends `SIGPROF` to the thread, and what handles the signal notes the stack. The calls that
/// such a signal interrupts are made again or return `EINTR`, as with any signal. The handler stays
/// when no thread is sampled any more; other handlers of `SIGPROF` are left alone, and then there are
/// no stacks.
pub struct StackSampler {
    samples: Reader<2>,
    thread: Registered,
}

/// A thread's stack at one moment.
#[derive(Clone, Copy, Debug)]
pub struct StackSample<'a> {
    /// When, on the clock of the sampler's.
    pub at: u64,
    /// Whether the thread was in a system call.
    pub in_kernel: bool,
    /// Where the thread was, and then to where each of the functions around returns; the innermost 256
    /// if there are more. Only the first if the thread was not on its own stack.
    pub frames: &'a [usize],
}

impl StackSampler {
    /// Of the thread of this process that has the kernel's id `thread_id` (`gettid`); not recording
    /// yet. Between two samples is `interval` on average, and at least half of it.
    ///
    /// `clock` is called by a signal handler, so it may neither allocate nor wait for anything.
    pub fn start(
        thread_id: i32,
        interval: Duration,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<StackSampler, Unavailable> {
        if interval.is_zero() {
            return Err(Unavailable::new("stacks", "their interval is zero"));
        }
        let memory = Memory::read().map_err(|error| {
            let why = format!("/proc/self/maps cannot be read: {error}");
            Unavailable::new("stacks", why)
        })?;
        let (writer, samples) = record::records();
        let target = Target::new(thread_id, interval, Box::new(clock), memory, writer);
        let thread = Registered::new(target)?;
        let timer = Timer::new(thread_id, thread.number())?;
        thread.target().has(timer);
        Ok(StackSampler { samples, thread })
    }

    /// Whether samples are taken from now on. Where none are, no timer runs. One that was being taken
    /// at this moment may still come.
    pub fn set_recording(&self, recording: bool) {
        self.thread.target().set_recording(recording);
    }

    /// Hands over the samples since the last time, in their order.
    pub fn drain(&mut self, mut each: impl FnMut(&StackSample<'_>)) {
        while let Some(([at, in_kernel], frames)) = self.samples.read() {
            each(&StackSample {
                at,
                in_kernel: in_kernel != 0,
                frames,
            });
        }
    }

    /// Samples for which there was no room, because nobody drained.
    pub fn lost(&self) -> u64 {
        self.samples.lost()
    }
}

impl Drop for StackSampler {
    fn drop(&mut self) {
        self.set_recording(false);
    }
}
