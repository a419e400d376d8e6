//! The kinds of findings.

use std::fmt;

use serde::Serialize;

/// The most severe first. A kind that can cause another one comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FindingKind {
    SleepingPoll,
    AllocatingPoll,
    RedundantDials,
    GrowingConnections,
    GrowingTasks,
    SelfWaking,
    SeveralConnections,
    IdlePolls,
    GrowingMemory,
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
