//! Budgets and their text form.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use crate::SiteId;
use program::number::{Number, TIME};

/// How much work one invocation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// At most this many iterations of the site's loop.
    Count(NonZeroU32),
    /// No further iteration after this time. The first iteration always runs.
    Time(Duration),
    /// Tokio's own cooperative budget, which the task shares with every tokio resource that it polls.
    /// Each iteration after the first costs one unit, and none runs without a unit left.
    Coop,
}

/// How the runtime is asked to poll the task again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Wake {
    /// `wake_by_ref`: the task goes back to the run queue at once. It may be polled again before the
    /// runtime checks timers and I/O.
    #[default]
    Immediate,
    /// The runtime wakes the task after it has run the ready tasks and checked timers and I/O, as with
    /// `tokio::task::yield_now`. Outside a tokio runtime the wake is immediate.
    Deferred,
}

/// The limit and the wake asked for at one site. Its text form is `LIMIT[xSEGMENTS][/WAKE]`: `8`, `50us`, `4/deferred`,
/// `coop`, `80x40`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// When an invocation stops.
    pub limit: Limit,
    /// How its task goes on. The wake of [`Limit::Coop`] is tokio's, so it is always deferred.
    pub wake: Wake,
    /// How many of the datagrams that [`Limit::Count`] counts one system call may send.
    pub segments: Option<NonZeroU32>,
}

/// The budgets of all sites of a process, and its remedies. The default has neither.
///
/// A remedy is another way to do what a measured crate does. The old way and the new one stand side by side in its source,
/// and the variant in force chooses one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct ProcessBudgets {
    /// The budget at each site. The index is the number of the site.
    pub(crate) by_site: [Option<Budget>; SiteId::MOST],
    /// The remedies in force. The bit with the number of a remedy is set if the remedy is in force.
    remedies: u8,
}

impl ProcessBudgets {
    /// No budget at any site, and no remedy.
    pub const NONE: ProcessBudgets = ProcessBudgets {
        by_site: [None; SiteId::MOST],
        remedies: 0,
    };

    /// The budget at `site`, if there is one.
    pub fn at(&self, site: SiteId) -> Option<Budget> {
        self.by_site[site.number()]
    }

    /// Whether the remedy with this number, which is below 8, is in force.
    pub fn remedy(&self, number: u32) -> bool {
        self.remedies & (1 << number) != 0
    }

    /// The same budgets with the remedy of this number.
    pub fn with_remedy(mut self, number: u32) -> ProcessBudgets {
        self.remedies |= 1 << number;
        self
    }

    /// The same budgets with this budget at `site`.
    pub fn with(mut self, site: SiteId, budget: Budget) -> ProcessBudgets {
        self.by_site[site.number()] = Some(budget);
        self
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (amount, wake) = match text.split_once('/') {
            Some((amount, wake)) => (amount, Some(wake.trim())),
            None => (text, None),
        };
        let is_count = |text: &str| text.chars().all(|letter| letter.is_ascii_digit());
        let parts = amount.split_once('x').filter(|(count, _)| is_count(count));
        let (limit, segments) = match parts {
            Some((count, segments)) => (
                parse_limit(count.trim())?,
                Some(parse_count(segments.trim())?),
            ),
            None => (parse_limit(amount.trim())?, None),
        };
        let wake = match (wake, limit) {
            (None, Limit::Coop) | (Some("deferred"), _) => Wake::Deferred,
            (Some("immediate"), Limit::Coop) => {
                return Err("the wake of coop is tokio's own, which is deferred".into());
            }
            (None | Some("immediate"), _) => Wake::Immediate,
            (Some(other), _) => return Err(format!("unknown wake {other:?}")),
        };
        Ok(Budget {
            limit,
            wake,
            segments,
        })
    }
}

/// The count of a limit is at least 1, because a site needs one iteration to make progress.
const COUNT: Number = Number {
    units: &[("", 1.0)],
    bare: "",
    least: 1.0,
    most: u32::MAX as f64,
};

fn parse_count(text: &str) -> Result<NonZeroU32, String> {
    let count = COUNT
        .read_whole(text)
        .map_err(|wrong| format!("limit {wrong}"))?;
    Ok(NonZeroU32::new(count as u32).expect("the count is at least 1"))
}

fn parse_limit(text: &str) -> Result<Limit, String> {
    if text == "coop" {
        return Ok(Limit::Coop);
    }
    if text.ends_with(|last: char| last.is_ascii_digit()) {
        return parse_count(text).map(Limit::Count);
    }
    let time_ns = TIME.read_whole(text);
    time_ns
        .map(|ns| Limit::Time(Duration::from_nanos(ns)))
        .map_err(|wrong| format!("limit {wrong}"))
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.limit)?;
        if let Some(segments) = self.segments {
            write!(f, "x{segments}")?;
        }
        match (self.limit, self.wake) {
            (Limit::Coop, _) | (_, Wake::Immediate) => Ok(()),
            (_, Wake::Deferred) => f.write_str("/deferred"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Count(count) => write!(f, "{count}"),
            Limit::Coop => f.write_str("coop"),
            Limit::Time(time) => f.write_str(&TIME.show(time.as_nanos() as f64)),
        }
    }
}
