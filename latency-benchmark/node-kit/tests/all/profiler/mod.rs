//! A thread that runs a function, and samples of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use node_kit::profiler::{StackSample, StackSampler, Symbols};

/// The interval of samples, and the longest time that a test waits for them.
pub(crate) const INTERVAL: Duration = Duration::from_micros(300);
const PATIENCE: Duration = Duration::from_secs(60);

/// A thread that repeats a function until it has to stop, and a sampler of it.
pub(crate) struct Worker {
    pub(crate) sampler: StackSampler,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(crate) fn new(mut repeat: impl FnMut() + Send + 'static) -> Worker {
        Worker::until(move |stop| {
            while !stop.load(Ordering::Relaxed) {
                repeat();
            }
        })
    }

    /// A thread whose function checks itself whether it has to stop.
    pub(crate) fn until(work: impl FnOnce(&AtomicBool) + Send + 'static) -> Worker {
        Worker::sampled(INTERVAL, clock(), work)
    }

    pub(crate) fn sampled(
        interval: Duration,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
        work: impl FnOnce(&AtomicBool) + Send + 'static,
    ) -> Worker {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let sampler = StackSampler::start(interval, clock);
            sender.send(sampler.unwrap()).unwrap();
            work(&stopped);
        });
        Worker {
            sampler: receiver.recv().unwrap(),
            stop,
            thread: Some(thread),
        }
    }

    /// Takes `wanted` samples.
    pub(crate) fn sample(&mut self, wanted: usize) -> Vec<Named> {
        self.sampler.set_recording(true);
        let samples = wait_for(&mut self.sampler, wanted);
        self.sampler.set_recording(false);
        samples
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let result = thread.join();
            assert!(result.is_ok() || thread::panicking());
        }
    }
}

/// A sample with its names, outermost first.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) at: u64,
    pub(crate) in_kernel: bool,
    pub(crate) frames: usize,
    pub(crate) stack: Vec<String>,
}

impl Named {
    /// Whether these functions directly call each other in this order.
    pub(crate) fn has_chain(&self, names: &[&str]) -> bool {
        self.stack.windows(names.len()).any(|window| {
            let mut pairs = window.iter().zip(names);
            pairs.all(|(name, wanted)| name.ends_with(wanted))
        })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.stack.iter().any(|each| each.contains(name))
    }
}

pub(crate) fn clock() -> impl Fn() -> u64 + Copy + Send + Sync + 'static {
    let start = Instant::now();
    move || start.elapsed().as_nanos() as u64
}

pub(crate) fn drain(sampler: &mut StackSampler, symbols: &mut Symbols) -> Vec<Named> {
    let named = |sample: StackSample| Named {
        at: sample.moment.at,
        in_kernel: sample.moment.in_kernel,
        frames: sample.frames.len(),
        stack: symbols.stack(&sample.frames),
    };
    sampler.take().map(named).collect()
}

pub(crate) fn wait_for(sampler: &mut StackSampler, wanted: usize) -> Vec<Named> {
    let mut symbols = Symbols::default();
    let mut samples = Vec::new();
    let start = Instant::now();
    while samples.len() < wanted {
        assert!(start.elapsed() < PATIENCE, "{} samples", samples.len());
        thread::sleep(Duration::from_millis(5));
        samples.append(&mut drain(sampler, &mut symbols));
    }
    samples
}
