//! What one run is to do: made by the sweep, carried out by a cell and its nodes.

use std::{fmt, str::FromStr, time::Duration};

use anyhow::anyhow;
use clap::ValueEnum;
use lab::{Backend, Jitter, Loss, Rtt};
use poll_probe::Budgets;
use serde::{Deserialize, Serialize};
use swarm_patch::subject::record::{BuildRecord, SourceRecord};

use crate::{
    failure::{Failure, bad_input},
    grid::Cell,
    payload::Payload,
    slices::most_to_explain,
};

/// One launch of the processes of a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunConfig {
    pub(crate) cell: Cell,
    /// From 1; where subjects are compared, the number of the block.
    pub(crate) run: u32,
    /// Index into the subjects of the sweep. Absent where there is only this program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) node: NodeConfig,
    pub(crate) load: Load,
    pub(crate) runtime: RuntimeConfig,
    pub(crate) variants: Vec<VariantConfig>,
    pub(crate) plan: Plan,
    pub(crate) lab: LabConfig,
    /// Absent where variants are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) explain: Option<ExplainConfig>,
}

/// Has a run find out why polls are slow, in place of how many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExplainConfig {
    /// The baseline and what is held against it, as indices into the variants.
    pub(crate) variants: Vec<usize>,
    /// How many there are to be.
    pub(crate) blocks: u32,
}

/// What a node speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodeConfig {
    pub(crate) workload: Workload,
    pub(crate) security: Security,
    pub(crate) transport: Transport,
    /// Of central alone.
    #[cfg(feature = "planted")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) plant: Option<crate::plant::Plant>,
}

impl NodeConfig {
    /// What of it this program was built without, and what to do about that.
    pub(crate) fn missing(&self) -> Option<String> {
        let (option, feature) = match (self.transport, self.security) {
            (Transport::Quic, _) if !cfg!(feature = "quic") => ("--transport quic", "quic"),
            (Transport::Tcp, Security::Tls) if !cfg!(feature = "tls") => ("--security tls", "tls"),
            _ => return None,
        };
        Some(format!(
            "{option}: this program was built without it (build it with `--features {feature}`, or by `./sweep.sh {option}`)"
        ))
    }

    /// The same, if this program has all of it.
    pub(crate) fn checked(self) -> Result<NodeConfig, Failure> {
        match self.missing() {
            Some(missing) => Err(bad_input(anyhow!(missing))),
            None => Ok(self),
        }
    }
}

/// What the nodes do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Workload {
    /// Central asks, peers echo
    RequestResponse,
    /// Central sends chunks over one long stream per peer, peers acknowledge each with a byte
    Stream,
    /// Every node publishes to a topic, and central relays among the peers
    Gossipsub,
    /// Ping and identify only
    Idle,
    /// Central asks over one long stream per peer, one request at a time, and peers echo
    Rr,
    /// As `rr`, in turns with the same over TCP without libp2p: what the verb `rr` measures
    #[value(skip)]
    RrBesideTcp,
}

impl Workload {
    /// Whether a peer that answers nothing is at fault.
    pub(crate) fn has_answers(self) -> bool {
        match self {
            Workload::RequestResponse | Workload::Stream | Workload::Rr | Workload::RrBesideTcp => {
                true
            }
            Workload::Gossipsub | Workload::Idle => false,
        }
    }
}

/// What encrypts a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Security {
    Noise,
    Tls,
    Plaintext,
}

/// What the connections are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transport {
    /// TCP with yamux
    Tcp,
    /// QUIC, which is encrypted and multiplexed by itself and has no site `muxer`
    Quic,
}

/// How hard central works its peers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Load {
    pub(crate) payload: Payload,
    pub(crate) pace: Pace,
}

/// When the next request goes out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pace {
    /// When one of so many per peer was answered. Latency counts from the sending.
    Outstanding(u32),
    /// So many times a second to each peer, answered or not. Latency counts from when it was due.
    PerSecond(f64),
}

/// Central's runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RuntimeConfig {
    /// 1 is a current-thread runtime.
    pub(crate) workers: usize,
    /// Null is tokio's default.
    pub(crate) event_interval: Option<u32>,
    /// Null is tokio's default.
    pub(crate) global_queue_interval: Option<u32>,
}

/// What a variant is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    /// The others are compared with it.
    Baseline,
    /// The baseline again: what differs between the two is chance.
    Twin,
    /// It is compared with the baseline.
    Candidate,
}

/// A set of budgets under comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VariantConfig {
    /// The budgets' text, with a mark for the twin of the baseline.
    pub(crate) label: String,
    pub(crate) role: Role,
    #[serde(with = "as_text")]
    pub(crate) budgets: Budgets,
}

/// What a program is built against. Its launches are compared with those of the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SubjectConfig {
    /// A short name, with a mark for the twin of the baseline.
    pub(crate) label: String,
    pub(crate) role: Role,
    /// As it was asked for.
    pub(crate) spec: String,
    /// The same for yamux; null for the one that libp2p asks for.
    pub(crate) yamux_spec: Option<String>,
    pub(crate) libp2p: SourceRecord,
    pub(crate) yamux: Option<SourceRecord>,
    /// Null if it is the program that sweeps.
    pub(crate) build: Option<BuildRecord>,
}

/// When what is measured, and when it is enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) warm_up_ms: u64,
    /// Thrown away after each change of variant.
    pub(crate) settle_ms: u64,
    pub(crate) slice_ms: u64,
    pub(crate) max_ms: u64,
    pub(crate) precision: Precision,
}

/// How well a slow ratio is to be known: within the larger of the two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Precision {
    pub(crate) percentage_points: f64,
    pub(crate) percent_of_value: f64,
}

/// The network around the nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LabConfig {
    pub(crate) backend: Backend,
    pub(crate) loss_percent: Option<Loss>,
    pub(crate) jitter_ms: Option<Jitter>,
    pub(crate) congestion_control: String,
    pub(crate) placement: lab::Placement,
}

impl RunConfig {
    /// How long there may be something to measure.
    pub(crate) fn longest(&self) -> Duration {
        let measuring = match &self.explain {
            // One of them is for the children.
            None => self
                .plan
                .pass(self.variants.len() + 1)
                .max(Duration::from_millis(self.plan.max_ms)),
            Some(explain) => self.plan.pass(most_to_explain(explain)),
        };
        Duration::from_millis(self.plan.warm_up_ms) + measuring
    }
}

impl Plan {
    /// Long enough to see several round trips, and a settling part after which polls are those of
    /// the new variant. Requests may last longer than that; a slice counts those that began before.
    pub(crate) fn for_rtt(rtt: Rtt, slice_ms: Option<u64>) -> Plan {
        const SETTLE_MS: u64 = 50;
        const SLICE_MS: u64 = 250;
        const WARM_UP_MS: u64 = 300;
        let rtt_ms = rtt.ms().ceil() as u64;
        Plan {
            warm_up_ms: WARM_UP_MS + 4 * rtt_ms,
            settle_ms: SETTLE_MS + rtt_ms,
            slice_ms: slice_ms.unwrap_or(SLICE_MS).max(5 * rtt_ms),
            max_ms: 0,
            precision: Precision {
                percentage_points: 1.0,
                percent_of_value: 10.0,
            },
        }
    }

    /// So many slices.
    pub(crate) fn pass(&self, slices: usize) -> Duration {
        Duration::from_millis((self.settle_ms + self.slice_ms) * slices as u64)
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}pp,{}%", self.percentage_points, self.percent_of_value)
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong =
            || format!("precision {text:?} is not two positive numbers (accepted: 1pp,10%)");
        let positive = |number: &str| {
            number
                .trim()
                .parse()
                .ok()
                .filter(|value: &f64| *value > 0.0 && value.is_finite())
        };
        let (points, percent) = text.split_once(',').ok_or_else(wrong)?;
        let points = points
            .trim()
            .strip_suffix("pp")
            .and_then(positive)
            .ok_or_else(wrong)?;
        let percent = percent
            .trim()
            .strip_suffix('%')
            .and_then(positive)
            .ok_or_else(wrong)?;
        Ok(Precision {
            percentage_points: points,
            percent_of_value: percent,
        })
    }
}

/// Values that have one text form are written in it.
pub(crate) mod as_text {
    use std::{fmt::Display, str::FromStr};

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<T: Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}
