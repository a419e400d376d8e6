//! What passes between the tool and the program that counts for `--gate`: a [`GateTask`] as JSON is its only argument,
//! and it prints a [`GateCounts`] as JSON.

use std::fmt;

use serde::{Deserialize, Serialize};

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
    /// Memory that holds all that is written.
    Memory,
    /// A pipe in memory that holds little, so that writes are partial and wait.
    Pipe,
    /// A pair of the kernel's Unix sockets, which deliver at once. Over TCP the kernel delivers and acknowledges at moments
    /// that depend on what else it has to do.
    Socket,
}

impl fmt::Display for GateCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = match self.transport {
            GateTransport::Memory => "memory",
            GateTransport::Pipe => "pipe",
            GateTransport::Socket => "socket",
        };
        let security = match self.security {
            Security::Noise => "noise",
            Security::Tls => "TLS",
            Security::Plaintext => "plaintext",
        };
        let workload = match self.workload {
            Workload::Stream => "stream",
            _ => "request-response",
        };
        let outstanding = match self.load.pace {
            Pace::Outstanding(count) => format!(" × {count}"),
            // No cell has another one.
            Pace::PerSecond(_) | Pace::Saturating => String::new(),
        };
        let (size, peers) = (self.load.payload.in_words(), self.peers);
        write!(
            f,
            "{transport}, {security}, {workload}, N={peers}, {size}{outstanding}"
        )
    }
}

/// What the program is to do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateTask {
    pub cell: GateCell,
    /// Of central.
    pub budgets: Budgets,
    /// Requests before counting begins.
    pub warm_up: u64,
    /// Requests while it counts.
    pub requests: u64,
    /// If not, the program only works, so that another program can count its instructions.
    pub counts: bool,
}

/// What is counted of central's tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateCounts {
    /// Those that were answered meanwhile.
    pub requests: u64,
    /// In the order of their names. Counts of zero are left out.
    pub counts: Vec<(CountName, u64)>,
}

/// A row of `counts.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateCountRow {
    /// Transport, security, workload, number of peers, payload and requests outstanding per peer.
    pub cell: String,
    /// `base` or `head`.
    pub program: String,
    /// 1 or 2. Each program runs each cell twice, and up to three times more if its two runs differ.
    pub attempt: usize,
    /// What was counted, by its name in `--allow`.
    pub kind: CountKind,
    /// The site that did it. Empty for all of central's tasks.
    pub site: Option<Site>,
    /// The child that the site polled, `own code` outside of its children, or a system call. Empty for the whole site.
    pub child: Option<String>,
    /// In all requests together. What is zero has no row.
    pub count: u64,
    /// Requests that were answered meanwhile.
    pub requests: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CountName {
    pub kind: CountKind,
    /// Absent for all of central.
    pub site: Option<Site>,
    /// The child that the site polled, or [`OWN_CODE`], or a system call. Absent for all of the site.
    pub child: Option<String>,
}

/// Stands for a site's code outside of its children.
pub const OWN_CODE: &str = "own code";

impl CountName {
    /// The code that did what was counted.
    pub fn place(&self) -> String {
        match (self.site, self.child.as_deref()) {
            (None, None) => "central".to_owned(),
            (None, Some(call)) => format!("central, `{call}`"),
            (Some(site), None) => format!("`{site}`"),
            (Some(site), Some(OWN_CODE)) => format!("`{site}`, {OWN_CODE}"),
            (Some(site), Some(child)) => format!("`{site}`, `{child}`"),
        }
    }
}

impl fmt::Display for CountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.kind)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum CountKind {
    Polls,
    Iterations,
    Yields,
    /// Of a task that was asleep or is polled.
    Wakes,
    /// Of a task that was woken already and not polled since.
    SuperfluousWakes,
    Allocations,
    Bytes,
    Frees,
    SystemCalls,
    Instructions,
}

impl CountKind {
    /// Those that the allocator and the wakers count, in the order of a meter.
    pub const METERED: [CountKind; 5] = [
        CountKind::Wakes,
        CountKind::SuperfluousWakes,
        CountKind::Allocations,
        CountKind::Bytes,
        CountKind::Frees,
    ];
}

shown_as_serialised!(CountKind);
