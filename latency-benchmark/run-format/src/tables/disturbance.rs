//! Finds the blocks that the machine disturbed.

use super::BlockRow;

/// The reason why a block does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disturbance {
    CentralStopped,
    OtherStopped,
    Suspended,
    /// Somebody set the clock, or a virtual machine was stopped without knowing.
    ClockSet,
}

impl Disturbance {
    /// A clause such as "central stood still", for "in 3 blocks central stood still".
    pub fn clause(self) -> &'static str {
        match self {
            Disturbance::CentralStopped => "central stood still",
            Disturbance::OtherStopped => "a peer or the delay line was stopped",
            Disturbance::Suspended => "the machine was suspended",
            Disturbance::ClockSet => "the machine's clock was set",
        }
    }
}

impl BlockRow {
    /// A block is disturbed if a process was stopped in it, or if something else lasted for more than a tenth of its time. The
    /// rule depends on the machine only and applies to whole blocks, so it cannot favour a variant.
    pub fn disturbance(&self) -> Option<Disturbance> {
        const LEAST_PERCENT: f64 = 10.0;
        if self.stops_found > Some(0) {
            return Some(Disturbance::OtherStopped);
        }
        let lasted = [
            (self.suspended_ms, Disturbance::Suspended),
            (self.clock_set_ms, Disturbance::ClockSet),
            (self.latest_ms, Disturbance::CentralStopped),
        ];
        let least_ms = LEAST_PERCENT / 100.0 * self.duration_ms;
        let mut long = lasted.into_iter().filter(|(ms, _)| *ms > Some(least_ms));
        Some(long.next()?.1)
    }
}
