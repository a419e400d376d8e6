//! Samples one thread's stack by wall-clock time.

mod thread;

use std::time::{Duration, Instant};

use self::thread::SampledThread;
use crate::profiler::Unobservable;
use crate::profiler::stack_writer::{StackReader, StackSample};

/// Samples a thread's stack at random intervals, including while the thread sleeps or is in the kernel.
///
/// A timer sends `SIGPROF` to the thread, and the signal handler stores the stack. As with any signal, an
/// interrupted system call is restarted or returns `EINTR`. The handler stays installed, and the memory of a
/// sampler is kept until the process ends, since a signal may arrive late. If the process already has a handler
/// for `SIGPROF`, sampling is not possible.
pub struct StackSampler {
    samples: StackReader,
    thread: &'static SampledThread,
    /// The time for which the kernel keeps the thread for a signal. It is 0 if it was not timed.
    signal: u64,
}

impl StackSampler {
    /// Prepares sampling of the calling thread, without recording yet. The time between two samples is `interval` on
    /// average, and at least half of it.
    ///
    /// A signal handler calls `clock`, so `clock` must neither allocate nor wait.
    pub fn start(
        interval: Duration,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<StackSampler, Unobservable> {
        if cfg!(not(feature = "symbols")) {
            let why = "this program was built without the cargo feature symbols, so functions have no names";
            return Err(Unobservable::new("stacks", why));
        }
        let (thread, samples) = SampledThread::start(interval, Box::new(clock))?;
        Ok(StackSampler {
            samples,
            thread,
            signal: 0,
        })
    }

    /// Times what a timer and its signal cost besides the handler. It is the median of the gaps that samples leave in a
    /// loop, and can be 20 µs in a virtual machine. The sampled thread has to call this. It takes some 20 ms, or longer on
    /// a machine that gives this thread no time.
    pub fn time_signals(&mut self) {
        const PAUSE: Duration = Duration::from_millis(20);
        const PATIENCE: Duration = Duration::from_secs(2);
        const FEWEST_GAPS: usize = 5;
        let (mut gaps, mut sample) = (Vec::new(), None);
        self.set_recording(true);
        let clock = &self.thread.clock;
        let (start, mut last) = (Instant::now(), clock());
        while start.elapsed() < PAUSE || gaps.len() < FEWEST_GAPS && start.elapsed() < PATIENCE {
            let now = clock();
            sample = self.take().last().map(|newest| newest.moment).or(sample);
            if let Some(sample) = sample.take_if(|sample| sample.at <= now) {
                gaps.push((now - last).saturating_sub(sample.took));
            }
            last = now;
        }
        self.set_recording(false);
        self.take().for_each(drop);
        gaps.sort_unstable();
        self.signal = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
    }

    /// Switches recording on or off. While it is off, no timer runs. A sample that is being taken at this
    /// moment may still be recorded.
    pub fn set_recording(&self, recording: bool) {
        self.thread.set_recording(recording);
    }

    /// Takes the samples since the last call, in their order.
    pub fn take(&mut self) -> impl Iterator<Item = StackSample> {
        let signal = self.signal;
        self.samples.take().map(move |mut sample| {
            sample.moment.took += signal;
            sample
        })
    }

    /// The number of samples that were lost because the buffer was full.
    pub fn lost(&self) -> u64 {
        self.samples.lost()
    }
}

impl Drop for StackSampler {
    fn drop(&mut self) {
        self.set_recording(false);
    }
}
