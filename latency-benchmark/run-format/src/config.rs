//! The configuration of sweeps and runs. A sweep decides it, a cell and its nodes follow it, and every `run.json` records
//! it.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::plausible::{
    ANY, COUNT, MS, MeasuredSpan, Plausible, PlausibleValue, WHAT_THE_TYPE_ALLOWS, length,
    plausible,
};
use crate::{
    Axes, Cell, Churn, JobsConfig, LabConfig, Load, MOST_CELLS, Pace, Part, Precision,
    RuntimeConfig, Shard, Site, SubjectConfig, VariantConfig, Workload, shown_as_serialised,
};

/// The configuration of a sweep: `config` of `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepConfig {
    pub axes: Axes,
    pub variants: Vec<VariantConfig>,
    /// The subjects of a launch are alive at the same time and take turns. Absent where one program is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<SubjectConfig>,
    pub node: NodeConfig,
    pub pace: Pace,
    pub runtime: RuntimeConfig,
    pub lab: LabConfig,
    /// The number of launches of each cell, of each subject if subjects are compared.
    pub repeat: u32,
    /// The number of launches of a cell whose round trip is longer than 50 ms. Absent if it is `repeat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_repeat: Option<u32>,
    /// The length of a turn. Null if it depends on the cell.
    pub turn_ms: Option<u64>,
    /// The time after each change of variant that is thrown away. Null if it depends on the cell.
    pub settle_ms: Option<u64>,
    /// The longest measurement of a launch. Null if it depends on the round trip and on `time_scale`.
    pub max_cell_ms: Option<u64>,
    /// The factor by which the default time of a launch is multiplied, unless `max_cell_ms` is given.
    pub time_scale: f64,
    pub precision: Precision,
    pub seed: u64,
    pub measurement: Measurement,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobsConfig>,
}

plausible! { SweepConfig;
    axes variants subjects node pace runtime lab precision measurement shard jobs: WHAT_THE_TYPE_ALLOWS;
    repeat far_repeat: 0.0..=most_repeats(axes, subjects.len());
    turn_ms: length(MS);
    settle_ms max_cell_ms: MS;
    time_scale: COUNT;
    seed: ANY;
}

/// Planning a sweep with more launches would not come to an end.
fn most_repeats(axes: &Axes, subjects: usize) -> f64 {
    const MOST_LAUNCHES: f64 = 1_000_000.0;
    let launches = axes.most_cells() * subjects.max(1) as f64;
    (MOST_LAUNCHES / launches.max(1.0)).min(MOST_CELLS).floor()
}

/// One launch of the processes of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    pub cell: Cell,
    /// The number of the launch of this cell, from 1.
    pub run: u32,
    /// Index into the subjects of the sweep. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<usize>,
    /// The number of other launches that are alive at the same time and take turns with this one.
    pub beside: usize,
    /// The number, from 1, of the layout of the programs that central and the peers run. Absent if there is one layout.
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
    /// The number of cells that were measured at the same time, this one included. Absent in a sweep without jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<usize>,
}

plausible! { RunConfig;
    cell run subject beside layout node load runtime variants plan lab measurement jobs: WHAT_THE_TYPE_ALLOWS;
    seed: ANY;
}

/// The kind of measurement of a run.
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
    #[serde(rename = "beside-tcp")]
    Libp2pAndRawTcp,
}

impl PlausibleValue for Measurement {
    fn check_in(&self, _: &str, _: &RangeInclusive<f64>, span: &MeasuredSpan) -> Result<()> {
        match self {
            Measurement::Compare | Measurement::Libp2pAndRawTcp => Ok(()),
            Measurement::Explain(plan) => plan.check(span),
            Measurement::Soak(plan) => plan.check(span),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainPlan {
    /// The baseline and the variant compared with it, as indices into the variants.
    pub variants: Vec<usize>,
    /// The number of blocks with every kind of evidence. Further blocks only sample stacks, until there are enough samples or
    /// the time is up.
    pub blocks: u32,
}

plausible! { ExplainPlan;
    variants blocks: WHAT_THE_TYPE_ALLOWS;
}

/// The length of the rows of a soak, and the rate at which peers are restarted meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoakPlan {
    pub interval_ms: u64,
    pub churn: Churn,
}

plausible! { SoakPlan;
    interval_ms: MS;
    churn: WHAT_THE_TYPE_ALLOWS;
}

/// The workload of all nodes, and how they are connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeConfig {
    pub workload: Workload,
    pub security: Security,
    pub transport: Transport,
    /// The parts of a profile. Empty if the nodes have one workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

plausible! { NodeConfig;
    workload security transport parts: WHAT_THE_TYPE_ALLOWS;
}

impl NodeConfig {
    /// The workloads that run at the same time.
    pub fn parts(&self, load: Load) -> Vec<Part> {
        match self.parts.is_empty() {
            true => vec![Part::whole(self.workload, load)],
            false => self.parts.clone(),
        }
    }

    /// Whether nodes with this transport and workload have the site.
    pub fn has_site(&self, site: Site) -> bool {
        if site == Site::GossipActor {
            return self.workload == Workload::Gossipsub;
        }
        match self.transport {
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

shown_as_serialised!(Security);

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

shown_as_serialised!(Transport);

/// Tokio's threshold for a slow poll. A run decides by it when it knows enough. Histograms are stored, so that readers can
/// choose another.
pub const SLOW_NS: u64 = 50_000;

/// The number of stack samples in slow polls that is enough. With fewer, a share of them is too often wrong by more than 6
/// percentage points.
pub const ENOUGH_SLOW_SAMPLES: u64 = 300;

/// The lengths of the slices of a run, and when the run knows enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub warm_up_ms: u64,
    /// The time after each change of variant that is thrown away.
    pub settle_ms: u64,
    pub turn_ms: u64,
    /// The number of turns of a slice.
    pub turns: u32,
    /// The planned time of the measurement, without the warm-up and without the repetition of disturbed blocks.
    pub max_ms: u64,
    pub precision: Precision,
}

plausible! { Plan;
    warm_up_ms settle_ms turn_ms max_ms: MS;
    turns precision: WHAT_THE_TYPE_ALLOWS;
}

impl Plan {
    /// The length of a turn, with settling.
    pub fn turn(&self) -> Duration {
        Duration::from_millis(self.settle_ms + self.turn_ms)
    }
}
