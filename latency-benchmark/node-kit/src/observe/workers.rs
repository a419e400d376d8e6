//! Polls of `Connection::poll`, by the thread that they ran on.

use std::fs;

use run_format::{config::SLOW_NS, network::Cores};

use super::process::Observee;

/// By the thread's number in the recorder. 0 is the main thread.
#[derive(Default)]
pub(crate) struct PollsByWorker(Vec<WorkerPolls>);

/// Polls on one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorkerPolls {
    pub(crate) polls: u64,
    pub(crate) slow: u64,
    pub(crate) ns: u64,
}

/// The cores that a thread may run on.
pub(crate) fn cores(thread: Observee) -> Option<Cores> {
    let status = fs::read_to_string(format!("{}/status", thread.folder())).ok()?;
    let mut lines = status.lines();
    lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:")?.parse().ok())
}

impl PollsByWorker {
    pub(crate) fn add(&mut self, thread: usize, duration_ns: u64) {
        let known = self.0.len();
        self.0.resize(known.max(thread + 1), WorkerPolls::default());
        let of = &mut self.0[thread];
        of.polls += 1;
        of.slow += u64::from(duration_ns > SLOW_NS);
        of.ns += duration_ns;
    }

    pub(crate) fn of(&self, thread: usize) -> WorkerPolls {
        self.0.get(thread).copied().unwrap_or_default()
    }
}
