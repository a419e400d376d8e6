//! The workload of the nodes and how they are connected. Central and its peers have to agree on it.

use std::fmt::Display;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use program::number::decimal;
use program::{Failure, bad_input, reject};
use run_format::{
    NodeConfig, Pace, Part, Payload, SMALLEST_MESSAGE, Security, Transport, Workload,
};
use swarm_patch::stacks::{LIBP2P, Stack};

use super::offers::offers;
use super::pace::pace;
use super::profile::{self, AskedWorkload};

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Nodes and their load")]
pub(crate) struct NodeArgs {
    #[arg(long, value_name = "WORKLOAD|FILE", value_parser = parse_workload, help = workload_help())]
    pub(crate) workload: Option<AskedWorkload>,
    /// Encryption of the TCP connections [default: noise; another stack has its own]
    #[arg(long, value_enum)]
    pub(crate) security: Option<Security>,
    /// Transport of the connections [default: tcp; another stack has its own]
    #[arg(long, value_enum)]
    pub(crate) transport: Option<Transport>,
    /// Keep this many unanswered requests per peer (closed loop). `max` doubles the number during the warm-up until
    /// throughput rises by less than 10 % [default: 2]
    #[arg(long, value_name = "COUNT", conflicts_with = "rate", value_parser = parse_outstanding)]
    pub(crate) outstanding: Option<Pace>,
    /// Send this many requests per second to each peer (open loop), and count latency from when each was due; with
    /// gossipsub: messages per second and node, 20 by default; with burst: bursts per second, 2 by default;
    /// with handshakes: connections per second to each peer, 5 by default
    #[arg(long, value_name = "PER_SECOND", value_parser = decimal)]
    pub(crate) rate: Option<f64>,
}

impl NodeArgs {
    /// The configuration of the nodes. Refuses what nodes of the stack do not have.
    pub(crate) fn node(&self, stack: &Stack) -> Result<NodeConfig, Failure> {
        let offers = offers(stack);
        let node = NodeConfig {
            workload: self.workload(),
            security: self.security.unwrap_or(offers.security[0]),
            transport: self.transport.unwrap_or(offers.transports[0]),
            parts: self.parts().to_vec(),
        };
        if !node.parts.is_empty() && stack.name != LIBP2P.name {
            reject!(
                "--workload: nodes of {} do not read profiles (accepted: a workload)",
                stack.name
            );
        }
        refuse_what_is_not_offered(stack, &node)?;
        Ok(node)
    }

    /// The parts of a profile; empty without a profile.
    fn parts(&self) -> &[Part] {
        self.workload.as_ref().map_or(&[], |asked| &asked.parts)
    }

    fn workload(&self) -> Workload {
        let asked = self.workload.as_ref();
        asked.map_or(Workload::RequestResponse, |asked| asked.workload)
    }

    /// The largest size in a profile, which is the payload of its cells. Refuses a profile with a part for a peer beyond this
    /// number.
    pub(crate) fn profile_payload(&self, peers: usize) -> Result<Option<Payload>, Failure> {
        let parts = self.parts().iter();
        let named = parts.clone().flat_map(|part| part.peers.iter().flatten());
        if let Some(needed) = named.max().filter(|needed| needed.get() > peers) {
            reject!(
                "--peers {peers}: a part of the profile is for peer {needed} (accepted: at least {needed} peers)"
            );
        }
        Ok(parts.map(|part| part.sizes.largest()).max())
    }

    /// The pace. Refuses one that does not fit the workload or a payload. A profile has its own paces.
    pub(crate) fn pace(&self, payloads: &[Payload]) -> Result<Pace, Failure> {
        let (workload, rate) = (self.workload(), self.rate.map(Pace::PerSecond));
        let asked = rate.or(self.outstanding);
        if let Some(measured) = self.parts().first() {
            if asked.is_some() {
                reject!(
                    "--workload: a profile has its own paces (remove --rate and --outstanding)"
                );
            }
            return Ok(measured.pace());
        }
        let least = least_bytes(workload);
        if let Some(size) = payloads.iter().find(|size| size.bytes() < least) {
            reject!(
                "--payload {size}: the workload {workload} needs at least {}",
                Payload::of_bytes(least)
            );
        }
        pace(workload, asked).map_err(|wrong| bad_input(anyhow!(wrong)))
    }
}

/// The least number of bytes of a message or a chunk.
fn least_bytes(workload: Workload) -> u32 {
    match workload {
        Workload::Gossipsub | Workload::Duplex => SMALLEST_MESSAGE,
        Workload::Stream | Workload::Rr | Workload::Burst => 1,
        Workload::RequestResponse | Workload::Idle | Workload::Handshakes => 0,
    }
}

fn parse_workload(text: &str) -> Result<AskedWorkload, String> {
    match Workload::from_str(text, false) {
        Ok(workload) => Ok(workload.into()),
        Err(_) => profile::read(text),
    }
}

/// The help of `--workload`.
fn workload_help() -> String {
    let mut help = "What the nodes do with each other [default: request-response]:".to_owned();
    let workloads = Workload::value_variants().iter();
    for value in workloads.filter_map(Workload::to_possible_value) {
        let says = value.get_help().map(ToString::to_string);
        help += &format!("\n- {}: {}", value.get_name(), says.unwrap_or_default());
    }
    help + "\n- the TOML file of a profile, which is a mix of them"
}

fn parse_outstanding(text: &str) -> Result<Pace, String> {
    if text == "max" {
        return Ok(Pace::Saturating);
    }
    match text.parse() {
        Ok(count @ 1..=1024) => Ok(Pace::Outstanding(count)),
        _ => Err("accepted: a number from 1 to 1024, or max".to_owned()),
    }
}

/// Refuses what nodes of the stack do not have.
pub(crate) fn refuse_what_is_not_offered(stack: &Stack, node: &NodeConfig) -> Result<(), Failure> {
    fn refuse<T: PartialEq + Display>(
        stack: &Stack,
        option: &str,
        value: &T,
        accepted: &[T],
    ) -> Result<(), Failure> {
        if !accepted.contains(value) {
            let accepted: Vec<String> = accepted.iter().map(T::to_string).collect();
            reject!(
                "{option} {value}: nodes of {} do not have it (accepted: {})",
                stack.name,
                accepted.join(", ")
            );
        }
        Ok(())
    }
    let offers = offers(stack);
    refuse(stack, "--workload", &node.workload, offers.workloads)?;
    refuse(stack, "--security", &node.security, offers.security)?;
    refuse(stack, "--transport", &node.transport, offers.transports)
}
