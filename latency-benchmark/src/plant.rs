//! Faults that central can be given, so that tests see whether they are found.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What is wrong with central on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Plant {
    /// Now and then a handler's poll has the thread sleep
    SleepingHandler,
    /// Each poll of a handler allocates 10,000 objects and drops them again
    AllocatingHandler,
    /// Each poll of a behaviour wakes its own task for nothing
    SelfWakingBehaviour,
    /// A behaviour dials a peer that it is connected to, ten times a second
    DiallingBehaviour,
    /// A behaviour starts tasks that never end, fifty a second
    LeakingTasks,
}
