use std::time::Duration;

use quanta::Clock;

use super::active::clock;

/// The clock of all records of a recorder, for other observations.
#[derive(Clone, Debug)]
pub struct RecordClock {
    pub(crate) clock: Clock,
    /// The time at which the recorder was created, in ticks.
    created: u64,
}

impl RecordClock {
    /// A clock that begins at zero now.
    pub(crate) fn new() -> RecordClock {
        RecordClock {
            created: clock().raw(),
            clock: clock().clone(),
        }
    }

    /// The current time on the clock of [`Record::start_ns`](crate::Record::start_ns).
    pub fn now_ns(&self) -> u64 {
        self.at_ns(self.clock.raw())
    }

    /// The time at which something happened that was that long ago.
    pub fn ns_ago(&self, ago: Duration) -> u64 {
        let ago_ns = u64::try_from(ago.as_nanos()).unwrap_or(u64::MAX);
        self.now_ns().saturating_sub(ago_ns)
    }

    pub(crate) fn at_ns(&self, ticks: u64) -> u64 {
        self.clock.delta_as_nanos(self.created, ticks)
    }
}
