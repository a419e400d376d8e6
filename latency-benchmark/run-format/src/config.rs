//! What a run is to do: decided by the sweep, carried out by a cell and its nodes, and recorded in every
//! `run.json`.

use std::time::Duration;

use crate::LabConfig;
use serde::{Deserialize, Serialize};

use crate::{
    Axes, Cell, Churn, JobsConfig, Load, Pace, Part, Precision, RuntimeConfig, Shard, Site,
    SubjectConfig, VariantConfig, Workload,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepConfig {
    pub axes: Axes,
    pub variants: Vec<VariantConfig>,
    /// Those of a launch are alive at the same time and take turns. Absent where one program is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<SubjectConfig>,
    pub node: NodeConfig,
    pub pace: Pace,
    pub runtime: RuntimeConfig,
    pub lab: LabConfig,
    pub repeat: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_repeat: Option<u32>,
    pub turn_ms: Option<u64>,
    pub settle_ms: Option<u64>,
    pub max_cell_ms: Option<u64>,
    pub time_scale: f64,
    pub precision: Precision,
    pub seed: u64,
    pub measurement: Measurement,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobsConfig>,
}

/// One launch of the processes of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    pub cell: Cell,
    pub run: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<usize>,
    /// How many other programs are alive and take turns with this one.
    pub beside: usize,
    /// Which layout of their programs central and the peers run, from 1. Absent where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<u32>,
    pub seed: u64,
    pub node: NodeConfig,
    pub load: Load,
    pub runtime: RuntimeConfig,
    pub variants: Vec<VariantConfig>,
    pub plan: Plan,
    pub lab: LabConfig,
    pub measurement: Measurement,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<usize>,
}

/// What a run does with the time that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measurement {
    /// Variants take turns, in blocks of random order.
    #[default]
    Compare,
    /// Each kind of evidence has slices of its own, which say why polls are slow.
    Explain(ExplainPlan),
    /// One variant is measured for hours, as rows that follow each other without a gap.
    Soak(SoakPlan),
    /// libp2p and raw TCP take turns. No poll is recorded, and no co-tenant runs.
    BesideTcp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainPlan {
    /// The baseline and the variant compared with it, as indices into the variants.
    pub variants: Vec<usize>,
    /// With every kind of evidence. Further ones only sample stacks, until there are enough samples or the time is up.
    pub blocks: u32,
}

/// How a soak is cut into rows, and how often peers are restarted meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoakPlan {
    pub interval_ms: u64,
    pub churn: Churn,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeConfig {
    /// If there are parts, that of the first of them.
    pub workload: Workload,
    pub security: Security,
    pub transport: Transport,
    /// Of a profile. The first is measured, and the others are its load beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

impl NodeConfig {
    /// What the nodes do at the same time.
    pub fn parts(&self, load: Load) -> Vec<Part> {
        match self.parts.is_empty() {
            true => vec![Part::whole(self.workload, load)],
            false => self.parts.clone(),
        }
    }

    /// Whether its transport and workload have the site.
    pub fn has_site(&self, site: Site) -> bool {
        match self.transport {
            _ if site == Site::GossipActor => self.workload == Workload::Gossipsub,
            Transport::Tcp => !site.is_of_quic(),
            Transport::Quic => site != Site::Muxer,
        }
    }

    /// The cargo features that the node program needs for this, each with the option that asks for it.
    pub fn features(&self) -> Vec<(&'static str, &'static str)> {
        let transport = match (self.transport, self.security) {
            (Transport::Quic, _) => Some(("quic", "--transport quic")),
            (Transport::Tcp, Security::Tls) => Some(("tls", "--security tls")),
            (Transport::Tcp, Security::Noise | Security::Plaintext) => None,
        };
        let gossips = self.workload == Workload::Gossipsub;
        let workload = gossips.then_some(("gossipsub", "--workload gossipsub"));
        transport.into_iter().chain(workload).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Security {
    Noise,
    Tls,
    Plaintext,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP with yamux
    Tcp,
    /// QUIC, which encrypts and multiplexes by itself. It has the sites `quic-connection` and `quic-endpoint` instead of
    /// `muxer`
    Quic,
}

/// Tokio's threshold for a slow poll, by which a run decides when it knows enough. Histograms are stored, so
/// that readers may choose another.
pub const SLOW_NS: u64 = 50_000;

/// Stack samples in slow polls. With fewer, a share of them is off by more than 6 percentage points too often.
pub const ENOUGH_SLOW_SAMPLES: u64 = 300;

/// When what is measured, and when it is enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub warm_up_ms: u64,
    /// Thrown away after each change of variant.
    pub settle_ms: u64,
    pub turn_ms: u64,
    /// Of a slice.
    pub turns: u32,
    pub max_ms: u64,
    pub precision: Precision,
}

impl Plan {
    /// With settling.
    pub fn turn(&self) -> Duration {
        Duration::from_millis(self.settle_ms + self.turn_ms)
    }
}
