//! Blocks that the machine disturbed.

use super::BlockRow;
use crate::{RuntimeConfig, Scheduler};

/// Why a block is no ordinary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disturbance {
    /// Central's worker could have run and did not, because the hypervisor or another thread had its core.
    Waiting,
    CentralStopped,
    OtherStopped,
    Suspended,
    /// By somebody, or after the machine stood still without knowing.
    ClockSet,
}

impl Disturbance {
    /// To be put after "in".
    pub fn words(self) -> &'static str {
        match self {
            Disturbance::Waiting => "central's worker waited for its core",
            Disturbance::CentralStopped => "central stood still",
            Disturbance::OtherStopped => "a peer or the delay line was stopped",
            Disturbance::Suspended => "the machine was suspended",
            Disturbance::ClockSet => "the machine's clock was set",
        }
    }
}

impl BlockRow {
    /// A block is disturbed by what lasts for more than this share of its time. The rule looks at the machine only, and
    /// at whole blocks, so that it cannot favour a variant.
    pub const DISTURBED_PERCENT: f64 = 10.0;

    /// Whether a process or the machine stood still for longer than any busy machine keeps a thread waiting. Such a block
    /// measured the standstill, however many others are disturbed.
    pub fn stood_still(&self) -> bool {
        const LONG_MS: f64 = 1000.0;
        let stood_ms = [self.latest_ms, self.suspended_ms, self.clock_set_ms];
        self.stops_found > Some(0) || stood_ms.into_iter().any(|ms| ms > Some(LONG_MS))
    }

    /// Several workers wait for each other, which is no disturbance.
    pub fn disturbance(&self, runtime: &RuntimeConfig) -> Option<Disturbance> {
        let waited_ns = match runtime.scheduler {
            Scheduler::CurrentThread => self.central_runqueue_ns,
            Scheduler::MultiThread => Some(0),
        };
        let waited = self.central_core_steal_ms.zip(waited_ns);
        let waited_ms = waited.map(|(stolen_ms, waited_ns)| stolen_ms + waited_ns as f64 / 1e6);
        let long = [
            (self.suspended_ms, Disturbance::Suspended),
            (self.clock_set_ms, Disturbance::ClockSet),
            (self.latest_ms, Disturbance::CentralStopped),
            (waited_ms, Disturbance::Waiting),
        ];
        let least_ms = Self::DISTURBED_PERCENT / 100.0 * self.duration_ms;
        let mut long = long.into_iter().filter(|(ms, _)| *ms > Some(least_ms));
        let stopped = self.stops_found > Some(0);
        let stopped = stopped.then_some(Disturbance::OtherStopped);
        stopped.or_else(|| Some(long.next()?.1))
    }
}
