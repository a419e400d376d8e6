//! The tokio runtime that central runs on.

use std::ops::Not;

use serde::{Deserialize, Serialize};

use crate::Crowd;
use crate::plausible::{WHAT_THE_TYPE_ALLOWS, plausible};

/// Central's tokio runtime. Null is tokio's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeConfig {
    pub scheduler: Scheduler,
    pub workers: usize,
    pub event_interval: Option<u32>,
    pub global_queue_interval: Option<u32>,
    /// Switches off the LIFO slot, whose task other workers cannot steal. This and the next two need tokio's unstable
    /// options.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub lifo_slot_off: bool,
    /// A worker that has tasks to poll hands timers and I/O to another worker.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub eager_driver_handoff: bool,
    /// Uses tokio's other implementation of timers.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub alt_timer: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crowd: Option<Crowd>,
}

plausible! { RuntimeConfig;
    scheduler workers event_interval global_queue_interval lifo_slot_off eager_driver_handoff alt_timer crowd: WHAT_THE_TYPE_ALLOWS;
}

impl RuntimeConfig {
    pub const CURRENT_THREAD: RuntimeConfig = RuntimeConfig {
        scheduler: Scheduler::CurrentThread,
        workers: 1,
        event_interval: None,
        global_queue_interval: None,
        lifo_slot_off: false,
        eager_driver_handoff: false,
        alt_timer: false,
        crowd: None,
    };

    /// The number of its workers, and of the main thread if that is no worker.
    pub fn threads(&self) -> usize {
        self.workers + usize::from(self.scheduler == Scheduler::MultiThread)
    }

    /// Whether it needs a multi-thread runtime with tokio's unstable options.
    pub fn needs_unstable_tokio(&self) -> bool {
        self.lifo_slot_off || self.eager_driver_handoff || self.alt_timer
    }
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
