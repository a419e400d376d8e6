//! The rows of the tables of evidence, as `EXPLAIN.md` says, and the names of their files.

use serde::Serialize;
use thread_scope::Unavailable;

use crate::store::rows::Pass;

pub(super) const STACKS: &str = "stacks.csv";
pub(super) const ALLOCATIONS: &str = "allocations.csv";
pub(super) const ALLOCATION_STACKS: &str = "allocation_stacks.csv";
pub(super) const COUNTERS: &str = "counters.csv";
pub(super) const SYSTEM_CALLS: &str = "system_calls.csv";
pub(super) const TIMELINE: &str = "timeline.csv";
pub(super) const ACTIVITY: &str = "activity.csv";
pub(super) const EVIDENCE: &str = "evidence.json";

#[derive(Serialize)]
pub(super) struct StackRow<'a> {
    pub(super) slice: u32,
    pub(super) site: Option<&'static str>,
    pub(super) child: Option<&'static str>,
    pub(super) from_ns: Option<u64>,
    pub(super) in_kernel: bool,
    pub(super) stack: &'a str,
    pub(super) samples: u64,
}

#[derive(Serialize)]
pub(super) struct AllocationRow {
    pub(super) slice: u32,
    pub(super) site: Option<&'static str>,
    pub(super) child: Option<&'static str>,
    pub(super) from_ns: Option<u64>,
    pub(super) polls: u64,
    pub(super) objects: u64,
    pub(super) bytes: u64,
}

#[derive(Serialize)]
pub(super) struct AllocationStackRow<'a> {
    pub(super) slice: u32,
    pub(super) site: Option<&'static str>,
    pub(super) child: Option<&'static str>,
    pub(super) stack: &'a str,
    pub(super) samples: u64,
    pub(super) objects: u64,
    pub(super) bytes: u64,
}

#[derive(Serialize)]
pub(super) struct CounterRow<'a> {
    pub(super) slice: u32,
    pub(super) scope: &'static str,
    pub(super) site: Option<&'static str>,
    pub(super) child: Option<&'static str>,
    pub(super) from_ns: Option<u64>,
    pub(super) counter: &'a str,
    pub(super) count: u64,
}

#[derive(Serialize)]
pub(super) struct SystemCallRow<'a> {
    pub(super) slice: u32,
    pub(super) site: Option<&'static str>,
    pub(super) child: Option<&'static str>,
    pub(super) from_ns: Option<u64>,
    pub(super) call: &'a str,
    pub(super) calls: u64,
    pub(super) ns: u64,
}

#[derive(Clone, Serialize)]
pub(super) struct TimelineRow {
    pub(super) slice: u32,
    pub(super) rank: usize,
    pub(super) site: &'static str,
    pub(super) child: Option<&'static str>,
    /// Of the child's poll.
    pub(super) iteration: Option<u32>,
    pub(super) depth: u32,
    pub(super) start_ns: u64,
    pub(super) duration_ns: u64,
    /// Of an invocation.
    pub(super) outcome: Option<&'static str>,
    pub(super) iterations: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct ActivityRow<'a> {
    pub(super) slice: u32,
    pub(super) counter: &'a str,
    pub(super) value: u64,
}

/// What could not be seen.
#[derive(Serialize)]
pub(super) struct Missing {
    evidence: &'static str,
    what: String,
    why: String,
}

impl Missing {
    pub(super) fn new(pass: Pass, unavailable: &Unavailable) -> Missing {
        Missing {
            evidence: pass.name(),
            what: unavailable.what.clone(),
            why: unavailable.why.clone(),
        }
    }
}
