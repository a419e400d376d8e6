//! The call of the program that counts for `--gate`: its only argument is a [`GateTask`] as JSON, and it prints a
//! [`GateCounts`] as JSON.

use std::fmt;
use std::ops::RangeInclusive;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use crate::plausible::{COUNT, LARGEST, MeasuredSpan, PlausibleValue, plausible};
use crate::{Budgets, Load, Pace, Security, Site, Workload, shown_as_serialised};

/// A cell: central and its peers in one process, on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateCell {
    pub transport: GateTransport,
    pub security: Security,
    pub workload: Workload,
    pub peers: usize,
    pub load: Load,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateTransport {
    /// A buffer in memory without a limit.
    Memory,
    /// A small buffer in memory, so that writes are partial and have to wait.
    Pipe,
    /// A pair of the kernel's Unix sockets, which deliver at once. Over TCP the kernel delivers and acknowledges at moments
    /// that depend on what else it has to do.
    Socket,
}

shown_as_serialised!(GateTransport);

impl fmt::Display for GateCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outstanding = match self.load.pace {
            Pace::Outstanding(count) => format!(" × {count}"),
            // No cell has another pace.
            Pace::PerSecond(_) | Pace::Saturating => String::new(),
        };
        write!(
            f,
            "{}, {}, {}, N={}, {}{outstanding}",
            self.transport,
            self.security,
            self.workload,
            self.peers,
            self.load.payload.in_words()
        )
    }
}

/// The task of the program that counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateTask {
    pub cell: GateCell,
    /// The budgets of central.
    pub budgets: Budgets,
    /// The number of requests that are sent before counting begins.
    pub warm_up: u64,
    /// The number of requests that are sent while the program counts.
    pub requests: u64,
    /// False if only callgrind counts.
    pub counts: bool,
}

/// The counts of central's tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateCounts {
    /// The number of requests that were answered meanwhile.
    pub requests: u64,
    /// Counts above zero, in the order of their names.
    pub counts: Vec<(CountName, u64)>,
}

impl PlausibleValue for (CountName, u64) {
    /// Refuses a number out of the range, and a name that would end the line or the code in which a report shows it.
    fn check_in(
        &self,
        column: &str,
        range: &RangeInclusive<f64>,
        span: &MeasuredSpan,
    ) -> Result<()> {
        let is_forbidden = |letter: char| letter.is_control() || letter == '`';
        let name = match &self.0.place {
            CountPlace::SystemCall(name) | CountPlace::Child(_, name) => name,
            CountPlace::Central | CountPlace::Site(_) | CountPlace::OwnCode(_) => "",
        };
        ensure!(
            !name.contains(is_forbidden),
            "{column}: it contains a control character or a backtick"
        );
        self.1.check_in(column, range, span)
    }
}

plausible! { GateCounts;
    requests: 1.0..=LARGEST;
    counts: COUNT;
}

/// A row of `counts.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateCountRow {
    /// Transport, security, workload, number of peers, payload and requests outstanding per peer.
    pub cell: String,
    /// `base` or `head`.
    pub program: String,
    /// From 1 to 5. Each program runs each cell twice, and up to three times more if its two runs differ.
    pub attempt: usize,
    /// The kind of count, by its name in `--allow`.
    pub kind: CountKind,
    /// The site that did it. Empty for all of central's tasks.
    pub site: Option<Site>,
    /// The child that the site polled, `own code` outside of its children, or a system call. Empty for the whole site.
    pub child: Option<String>,
    /// The count in all requests together. A count of zero has no row.
    pub count: u64,
    /// Requests that were answered meanwhile.
    pub requests: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CountName {
    pub kind: CountKind,
    #[serde(flatten)]
    pub place: CountPlace,
}

/// The code to which a count belongs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "PlaceColumns", into = "PlaceColumns")]
pub enum CountPlace {
    /// All of central's tasks.
    Central,
    /// A system call of central's tasks.
    SystemCall(String),
    /// A site with everything that it polls.
    Site(Site),
    /// The code of a site outside of its children.
    OwnCode(Site),
    /// A child that the site polls.
    Child(Site, String),
}

/// A place as the columns `site` and `child` of a [`GateCountRow`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceColumns {
    pub site: Option<Site>,
    pub child: Option<String>,
}

const OWN_CODE: &str = "own code";

impl CountPlace {
    pub fn site(&self) -> Option<Site> {
        match self {
            CountPlace::Central | CountPlace::SystemCall(_) => None,
            CountPlace::Site(site) | CountPlace::OwnCode(site) | CountPlace::Child(site, _) => {
                Some(*site)
            }
        }
    }
}

impl From<PlaceColumns> for CountPlace {
    fn from(columns: PlaceColumns) -> CountPlace {
        match (columns.site, columns.child) {
            (None, None) => CountPlace::Central,
            (None, Some(call)) => CountPlace::SystemCall(call),
            (Some(site), None) => CountPlace::Site(site),
            (Some(site), Some(child)) if child == OWN_CODE => CountPlace::OwnCode(site),
            (Some(site), Some(child)) => CountPlace::Child(site, child),
        }
    }
}

impl From<CountPlace> for PlaceColumns {
    fn from(place: CountPlace) -> PlaceColumns {
        let site = place.site();
        let child = match place {
            CountPlace::Central | CountPlace::Site(_) => None,
            CountPlace::OwnCode(_) => Some(OWN_CODE.to_owned()),
            CountPlace::SystemCall(name) | CountPlace::Child(_, name) => Some(name),
        };
        PlaceColumns { site, child }
    }
}

impl fmt::Display for CountPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CountPlace::Central => write!(f, "central"),
            CountPlace::SystemCall(call) => write!(f, "central, `{call}`"),
            CountPlace::Site(site) => write!(f, "`{site}`"),
            CountPlace::OwnCode(site) => write!(f, "`{site}`, {OWN_CODE}"),
            CountPlace::Child(site, child) => write!(f, "`{site}`, `{child}`"),
        }
    }
}

impl fmt::Display for CountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.kind)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum CountKind {
    Polls,
    Iterations,
    Yields,
    /// Wake-ups of a task that was asleep or is being polled.
    Wakes,
    /// Wake-ups of a task that was woken before and not polled since.
    SuperfluousWakes,
    Allocations,
    Bytes,
    SystemCalls,
    Instructions,
}

impl CountKind {
    /// The kinds that the allocator and the wakers count, in the order of a meter.
    pub const METERED: [CountKind; 4] = [
        CountKind::Wakes,
        CountKind::SuperfluousWakes,
        CountKind::Allocations,
        CountKind::Bytes,
    ];
}

shown_as_serialised!(CountKind);
