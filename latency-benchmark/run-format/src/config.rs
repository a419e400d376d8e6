//! What a run is to do: decided by the sweep, carried out by a cell and its nodes, and recorded in every
//! `run.json`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use crate::runtime::{RuntimeConfig, Scheduler};
use crate::{
    Site,
    changes::FEWEST_BLOCKS,
    churn::Churn,
    grid::{Axes, Cell},
    jobs::JobsConfig,
    network::{Backend, Jitter, Loss, PeerHosts, Placement, ReceiveOn, Rtt},
    payload::Payload,
    precision::Precision,
    shard::Shard,
    subject::SubjectConfig,
    variant::VariantConfig,
};

/// What a sweep measures, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepConfig {
    pub axes: Axes,
    pub variants: Vec<VariantConfig>,
    /// Absent where one program is measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<SubjectConfig>,
    pub node: NodeConfig,
    pub pace: Pace,
    pub runtime: RuntimeConfig,
    pub lab: LabConfig,
    pub repeat: u32,
    /// Null is the default for the cell, as is `settle_ms`.
    pub turn_ms: Option<u64>,
    pub settle_ms: Option<u64>,
    /// Null where the time of a cell depends on its round trip.
    pub max_cell_ms: Option<u64>,
    /// Then a factor of that time.
    pub time_scale: f64,
    pub precision: Precision,
    pub seed: u64,
    pub measurement: Measurement,
    /// The part of the cells that is measured. Absent if all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Absent where cells are measured one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<JobsConfig>,
}

/// One launch of the processes of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    pub cell: Cell,
    /// From 1; where subjects are compared, the number of the block.
    pub run: u32,
    /// Index into the subjects of the sweep. Absent where one program is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<usize>,
    pub seed: u64,
    pub node: NodeConfig,
    pub load: Load,
    pub runtime: RuntimeConfig,
    pub variants: Vec<VariantConfig>,
    pub plan: Plan,
    pub lab: LabConfig,
    pub measurement: Measurement,
    /// How many cells at most are measured at the same time, this one included. Absent without jobs.
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

/// How a cell is explained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainPlan {
    /// The baseline and the variant compared with it, as indices into the variants.
    pub variants: Vec<usize>,
    /// With every kind of evidence. Further ones only sample stacks, until there are enough samples or the
    /// time is up.
    pub blocks: u32,
}

/// How a soak is cut into rows, and how often peers are restarted meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoakPlan {
    pub interval_ms: u64,
    pub churn: Churn,
}

/// What a node speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeConfig {
    pub workload: Workload,
    pub security: Security,
    pub transport: Transport,
}

impl NodeConfig {
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
        let workload = match self.workload {
            Workload::Gossipsub => Some(("gossipsub", "--workload gossipsub")),
            Workload::RequestResponse | Workload::Stream | Workload::Idle | Workload::Rr => None,
        };
        transport.into_iter().chain(workload).collect()
    }
}

/// What the nodes do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Central sends requests, peers echo them
    RequestResponse,
    /// Central sends chunks over one long stream per peer, peers acknowledge each with a byte
    Stream,
    /// Every node publishes to a topic, and central relays among the peers: by gossipsub of libp2p, or by iroh-gossip
    Gossipsub,
    /// Ping and identify only
    Idle,
    /// Central sends one request at a time over one long stream per peer, and peers echo it
    Rr,
}

impl Workload {
    /// Whether a peer that never answers is an error.
    pub fn has_answers(self) -> bool {
        match self {
            Workload::RequestResponse | Workload::Stream | Workload::Rr => true,
            Workload::Gossipsub | Workload::Idle => false,
        }
    }
}

/// What encrypts a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Security {
    Noise,
    Tls,
    Plaintext,
}

/// What the connections are made of.
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

/// How hard central works its peers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    pub payload: Payload,
    pub pace: Pace,
}

/// When the next request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Closed loop: as soon as one of this number per peer is answered. Latency counts from the sending.
    Outstanding(u32),
    /// Open loop: this number per second to each peer, answered or not. Latency counts from when it was due.
    PerSecond(f64),
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

/// The network around the nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabConfig {
    pub backend: Backend,
    pub loss_percent: Option<Loss>,
    pub jitter_ms: Option<Jitter>,
    pub congestion_control: String,
    /// Absent in older files.
    #[serde(default)]
    pub receive_on: ReceiveOn,
    pub placement: Placement,
    /// Then there is no lab, and nothing is delayed. Absent where peers run on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_hosts: Option<PeerHosts>,
}

/// With more variants, blocks would be too few if slices had several turns.
const MANY_VARIANTS: usize = 12;

impl SweepConfig {
    /// The plan for a cell.
    pub fn plan(&self, cell: Cell) -> Plan {
        let plan = match self.measurement {
            // One variant has nothing to take turns with.
            Measurement::Compare if self.variants.len() > MANY_VARIANTS => Plan {
                turns: 1,
                ..Plan::of_turns(cell, self.turn_ms, self.settle_ms)
            },
            Measurement::Compare if self.variants.len() > 1 => {
                Plan::of_turns(cell, self.turn_ms, self.settle_ms)
            }
            _ => Plan::of_long_slices(cell.rtt_ms, self.turn_ms),
        };
        Plan {
            settle_ms: self.settle_ms.unwrap_or(plan.settle_ms),
            max_ms: self.cell_ms(cell, &plan),
            precision: self.precision,
            ..plan
        }
    }

    /// How long a run is measured by default. Over long round trips there are fewer polls and turns in a second.
    pub fn measuring_ms(rtt_ms: f64) -> f64 {
        const SHORTEST_MS: f64 = 8400.0;
        const MS_BY_RTT_MS: f64 = 40.0;
        SHORTEST_MS + MS_BY_RTT_MS * rtt_ms
    }

    /// How long a run of the cell may measure.
    fn cell_ms(&self, cell: Cell, plan: &Plan) -> u64 {
        let by_rtt = Self::measuring_ms(cell.rtt_ms.ms());
        let fewest_blocks = plan.pass(self.variants.len()) * FEWEST_BLOCKS as u32;
        let by_rtt = ((self.time_scale * by_rtt) as u64).max(fewest_blocks.as_millis() as u64);
        self.max_cell_ms.unwrap_or(by_rtt)
    }

    /// One launch of a cell.
    pub fn run(&self, cell: Cell, run: u32, subject: Option<usize>, seed: u64) -> RunConfig {
        let of_subject = subject.and_then(|at| self.subjects.get(at));
        RunConfig {
            cell,
            run,
            subject,
            seed,
            node: self.node,
            load: Load {
                payload: cell.payload_bytes,
                pace: self.pace,
            },
            runtime: of_subject.and_then(|it| it.runtime).unwrap_or(self.runtime),
            variants: self.variants.clone(),
            plan: self.plan(cell),
            lab: self.lab.clone(),
            measurement: self.measurement.clone(),
            jobs: None,
        }
    }

    /// A field of a launch that is not as this sweep has it, if there is one. The order of variants, the cores, and the time
    /// that other launches left are each launch's own, as is `plan` where another version has other lengths.
    pub fn differs_in(&self, launch: &RunConfig, plan: Plan) -> Option<String> {
        let own = launch.clone();
        let expected = RunConfig {
            plan: Plan {
                max_ms: self.max_cell_ms.unwrap_or(own.plan.max_ms),
                ..plan
            },
            lab: LabConfig {
                placement: own.lab.placement,
                ..self.lab.clone()
            },
            jobs: own.jobs,
            ..self.run(own.cell, own.run, own.subject, own.seed)
        };
        if expected == *launch {
            return None;
        }
        let fields = |of: &RunConfig| serde_json::to_value(of).unwrap_or_default();
        let (expected, found) = (fields(&expected), fields(launch));
        let mut fields = expected.as_object()?.iter();
        let differing = fields.find(|(name, value)| found.get(name) != Some(value));
        Some(differing.map_or("config", |(name, _)| name).to_owned())
    }

    /// The most launches that there can be.
    pub fn launches(&self) -> usize {
        self.axes.cells().len() * self.repeat as usize * self.subjects.len().max(1)
    }

    /// How many times sooner all of them are done than one after the other.
    pub fn speed(&self) -> f64 {
        let jobs = self.jobs.as_ref();
        jobs.map_or(1.0, |jobs| jobs.speed(self.launches()))
    }
}

impl Plan {
    /// Slices of many short turns: the noise of a machine is slow, so what counts is how often variants alternate.
    /// METHODS.md has the measurements that the lengths follow from. A turn is never shorter than two round trips,
    /// since traffic comes in bursts of one, nor than what central has in hand when variants change.
    pub fn of_turns(cell: Cell, turn_ms: Option<u64>, settle_ms: Option<u64>) -> Plan {
        /// Shorter slices make larger files, longer ones fewer blocks, of which intervals are made.
        const SLICE_MS: u64 = 60;
        /// The payload that even a slow machine moves to and fro in a millisecond.
        const BYTES_PER_MS: u64 = 100 << 10;
        let rtt_ms = cell.rtt_ms.ms().ceil() as u64;
        // Over any link, what was in flight under the variant before takes a while to be gone.
        let (least_turn_ms, least_settle_ms) = if rtt_ms == 0 { (20, 10) } else { (40, 20) };
        let in_hand_ms = cell.peers as u64 * cell.payload_bytes.bytes() as u64 / BYTES_PER_MS;
        let turn_ms = turn_ms.unwrap_or(least_turn_ms.max(2 * rtt_ms) + in_hand_ms);
        Plan {
            settle_ms: settle_ms.unwrap_or(least_settle_ms.max(rtt_ms / 2) + in_hand_ms / 4),
            turn_ms,
            turns: u32::try_from(SLICE_MS.div_ceil(turn_ms)).unwrap_or(1),
            ..Plan::of_long_slices(cell.rtt_ms, None)
        }
    }

    /// Slices of one turn each, for what is not told by alternating.
    pub fn of_long_slices(rtt: Rtt, slice_ms: Option<u64>) -> Plan {
        const SETTLE_MS: u64 = 50;
        const SLICE_MS: u64 = 250;
        const WARM_UP_MS: u64 = 300;
        let rtt_ms = rtt.ms().ceil() as u64;
        Plan {
            warm_up_ms: WARM_UP_MS + 4 * rtt_ms,
            settle_ms: SETTLE_MS + rtt_ms,
            turn_ms: slice_ms.unwrap_or(SLICE_MS).max(5 * rtt_ms),
            turns: 1,
            max_ms: 0,
            precision: Precision {
                percentage_points: 1.0,
                percent_of_value: 10.0,
            },
        }
    }

    /// The time that this number of slices takes.
    pub fn pass(&self, slices: usize) -> Duration {
        let turn = self.settle_ms + self.turn_ms;
        Duration::from_millis(turn * u64::from(self.turns) * slices as u64)
    }
}
