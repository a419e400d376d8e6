//! `run.json`: how a run went. Only the fields that are used.

use serde::Deserialize;

use super::{manifest::Node, variant::Variant};
use crate::grid::Cell;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RunRow {
    pub(crate) cell: String,
    pub(crate) config: RunConfig,
    #[serde(flatten)]
    pub(crate) end: End,
    pub(crate) network: Network,
    pub(crate) blocks: Option<u32>,
    pub(crate) probe_ns: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RunConfig {
    pub(crate) cell: Cell,
    pub(crate) run: u32,
    /// Absent where there is one program.
    pub(crate) subject: Option<usize>,
    pub(crate) node: Node,
    pub(crate) variants: Vec<Variant>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub(crate) enum End {
    Ok { stop: Stop },
    Invalid { reason: String },
    Failed { stage: String, reason: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stop {
    Precise,
    Cap,
    Interrupted,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Network {
    pub(crate) lab: Option<LabFacts>,
    pub(crate) rtt: Option<RttReport>,
    pub(crate) counters: Option<Counters>,
    pub(crate) delay_line: Option<DelayLine>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LabFacts {
    pub(crate) backend: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RttReport {
    pub(crate) links: Vec<Link>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Link {
    pub(crate) connects_ms: Vec<f64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Counters {
    pub(crate) central: NamespaceCounters,
    pub(crate) peers: Vec<NamespaceCounters>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct NamespaceCounters {
    pub(crate) qdisc_dropped: Option<u64>,
    pub(crate) queue_dropped: Option<u64>,
    pub(crate) link_dropped: Option<u64>,
}

impl NamespaceCounters {
    /// None if nothing that drops could be asked.
    pub(crate) fn dropped(&self) -> Option<u64> {
        [self.qdisc_dropped, self.queue_dropped, self.link_dropped]
            .into_iter()
            .flatten()
            .reduce(|sum, more| sum + more)
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct DelayLine {
    pub(crate) queues: Vec<Queue>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Queue {
    pub(crate) packets: u64,
    pub(crate) mean_late_us: Option<f64>,
}
