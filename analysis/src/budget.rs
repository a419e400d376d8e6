//! Budgets in pictures.

use poll_probe::{Limit, Wake};

/// Sorts limits: among limits of one kind, a larger number is more room.
pub(crate) fn room(limit: Limit) -> (u8, u64) {
    match limit {
        Limit::Count(count) => (0, u64::from(count.get())),
        Limit::Time(time) => (1, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
        Limit::Coop => (2, 0),
    }
}

pub(crate) fn limit_in_words(limit: Limit) -> String {
    match limit {
        Limit::Time(time) => format!("{} µs", time.as_nanos() as f64 / 1e3),
        limit => limit.to_string(),
    }
}

pub(crate) fn wake_in_words(wake: Wake) -> &'static str {
    match wake {
        Wake::Immediate => "immediate wake",
        Wake::Deferred => "deferred wake",
    }
}
