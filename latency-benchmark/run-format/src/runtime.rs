//! The tokio runtime that central runs on.

use serde::{Deserialize, Serialize};

/// Central's tokio runtime. Null is tokio's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeConfig {
    pub scheduler: Scheduler,
    pub workers: usize,
    pub event_interval: Option<u32>,
    pub global_queue_interval: Option<u32>,
    /// Without the place for the task that was woken last, from which no other worker takes it. It needs tokio's
    /// unstable options, as does the next.
    #[serde(default, skip_serializing_if = "is_off")]
    pub lifo_slot_off: bool,
    /// A worker that has tasks to poll hands the timers and I/O to another.
    #[serde(default, skip_serializing_if = "is_off")]
    pub eager_driver_handoff: bool,
}

fn is_off(option: &bool) -> bool {
    !option
}

impl RuntimeConfig {
    pub const CURRENT_THREAD: RuntimeConfig = RuntimeConfig {
        scheduler: Scheduler::CurrentThread,
        workers: 1,
        event_interval: None,
        global_queue_interval: None,
        lifo_slot_off: false,
        eager_driver_handoff: false,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Everything on one thread
    CurrentThread,
    /// The swarm on the main thread, connections on workers
    MultiThread,
}
