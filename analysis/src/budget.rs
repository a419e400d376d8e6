//! The text of budgets, taken apart: `muxer=1/deferred` is a limit of one at the muxer, with a deferred
//! wake.

use crate::site::Site;

/// A bound at one site.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Budget {
    pub(crate) site: Site,
    pub(crate) limit: Limit,
    pub(crate) wake: Wake,
}

/// How much one invocation may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// So many iterations.
    Count(u32),
    TimeNs(u64),
    /// What tokio's own budget allows.
    Coop,
}

/// How an invocation that spent its budget has itself polled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wake {
    Immediate,
    Deferred,
}

impl Wake {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Wake::Immediate => "immediate wake",
            Wake::Deferred => "deferred wake",
        }
    }
}

impl Budget {
    /// The budgets of a variant; none for `none` and for what is not understood.
    pub(crate) fn all(text: &str) -> Vec<Budget> {
        text.split(',').filter_map(Budget::one).collect()
    }

    fn one(text: &str) -> Option<Budget> {
        let (site, bound) = text.trim().split_once('=')?;
        let (limit, wake) = match bound.split_once('/') {
            Some((limit, "deferred")) => (limit, Wake::Deferred),
            Some((limit, _)) => (limit, Wake::Immediate),
            None => (bound, Wake::Immediate),
        };
        Some(Budget {
            site: site.parse().ok()?,
            limit: Limit::parse(limit)?,
            wake,
        })
    }
}

impl Limit {
    fn parse(text: &str) -> Option<Limit> {
        if text == "coop" {
            return Some(Limit::Coop);
        }
        if let Ok(count) = text.parse() {
            return Some(Limit::Count(count));
        }
        let duration = humantime::parse_duration(text).ok()?;
        Some(Limit::TimeNs(u64::try_from(duration.as_nanos()).ok()?))
    }

    /// Among limits of one kind, a larger number is more room.
    pub(crate) fn room(self) -> (u8, u64) {
        match self {
            Limit::Count(count) => (0, u64::from(count)),
            Limit::TimeNs(ns) => (1, ns),
            Limit::Coop => (2, 0),
        }
    }

    pub(crate) fn text(self) -> String {
        match self {
            Limit::Count(count) => count.to_string(),
            Limit::TimeNs(ns) => format!("{} µs", crate::text::number(ns as f64 / 1000.0)),
            Limit::Coop => "coop".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_taken_apart() {
        let budget = |site, limit, wake| Budget { site, limit, wake };
        assert_eq!(Budget::all("none"), []);
        assert_eq!(
            Budget::all("connection=8,muxer=50us/deferred"),
            [
                budget(Site::Connection, Limit::Count(8), Wake::Immediate),
                budget(Site::Muxer, Limit::TimeNs(50_000), Wake::Deferred),
            ]
        );
        assert_eq!(Budget::all("task=coop")[0].limit, Limit::Coop);
    }
}
