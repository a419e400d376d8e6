//! What central and its peers have to agree on.

use clap::{Args, ValueEnum};
use program::{Failure, reject};
use run_format::number::decimal;
use run_format::{
    Load, NodeConfig, PAYLOAD_FORMS, Pace, Payload, SMALLEST_MESSAGE, Security, Transport, Workload,
};
use swarm_patch::stacks::Stack;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Nodes and their load")]
pub(crate) struct NodeArgs {
    /// What the nodes do with each other [default: request-response]
    #[arg(long, value_enum)]
    pub(crate) workload: Option<Workload>,
    /// Encryption of the TCP connections [default: noise; another stack has its own]
    #[arg(long, value_enum)]
    pub(crate) security: Option<Security>,
    /// Transport of the connections [default: tcp; another stack has its own]
    #[arg(long, value_enum)]
    pub(crate) transport: Option<Transport>,
    /// Keep this many unanswered requests per peer (closed loop); max: double them during the warm-up until throughput
    /// rises by less than 10 % [default: 2]
    #[arg(long, value_name = "COUNT", conflicts_with = "rate", value_parser = outstanding)]
    pub(crate) outstanding: Option<Pace>,
    /// Send this many requests per second to each peer (open loop), and count latency from when each was due; with
    /// gossipsub: messages per second and node, 20 by default; with burst: bursts per second, 2 by default;
    /// with handshakes: connections per second to each peer, 5 by default
    #[arg(long, value_name = "PER_SECOND", value_parser = decimal)]
    pub(crate) rate: Option<f64>,
}

impl NodeArgs {
    /// What nodes of that stack are to do, if they can.
    pub(crate) fn node(&self, stack: &Stack) -> Result<NodeConfig, Failure> {
        fn default<T: ValueEnum>(stack: &Stack, option: &str) -> Option<T> {
            T::from_str(stack.accepted(option).first()?, false).ok()
        }
        let (security, transport) = (self.security, self.transport);
        let security = security.or_else(|| default(stack, "--security"));
        let transport = transport.or_else(|| default(stack, "--transport"));
        let node = NodeConfig {
            workload: self.workload(),
            security: security.unwrap_or(Security::Plaintext),
            transport: transport.unwrap_or(Transport::Tcp),
        };
        refuse_others(stack, node)?;
        Ok(node)
    }

    fn workload(&self) -> Workload {
        self.workload.unwrap_or(Workload::RequestResponse)
    }

    /// The pace, if it fits the workload and every one of the payloads.
    pub(crate) fn pace(&self, payloads: &[Payload]) -> Result<Pace, Failure> {
        const CLOSED: Pace = Pace::Outstanding(2);
        const MOST_PER_SECOND: f64 = 1e6;
        // Peers that are silent for longer count as lost.
        const FEWEST_PER_SECOND: f64 = 0.5;
        let workload = self.workload();
        let name = workload.to_possible_value();
        let name = name.as_ref().map_or("", |value| value.get_name());
        let least = least_bytes(workload);
        if let Some(size) = payloads.iter().find(|size| size.bytes() < least) {
            reject!(
                "--payload {size}: the workload {name} needs at least {}",
                Payload::of_bytes(least)
            );
        }
        let pace = self.rate.map(Pace::PerSecond).or(self.outstanding);
        match (workload, pace) {
            (_, Some(Pace::PerSecond(rate))) if rate > MOST_PER_SECOND => {
                reject!("--rate {rate}: it is more than {MOST_PER_SECOND} per second")
            }
            (Workload::RequestResponse, pace) => Ok(pace.unwrap_or(CLOSED)),
            (Workload::Stream, None) => Ok(CLOSED),
            (Workload::Stream, Some(Pace::Outstanding(count))) => Ok(Pace::Outstanding(count)),
            (Workload::Stream, Some(Pace::PerSecond(_))) => reject!(
                "--rate: the workload stream sends as fast as it can (accepted: --outstanding)"
            ),
            (Workload::Stream, Some(Pace::Saturating)) => reject!(
                "--outstanding max: only the workload request-response finds that number (accepted: a number)"
            ),
            (Workload::Rr, None | Some(Pace::Outstanding(1))) => Ok(Pace::Outstanding(1)),
            (Workload::Rr, Some(Pace::PerSecond(_))) => reject!(
                "--rate: the workload rr sends a request when the last one is answered, so it has no rate (remove --rate)"
            ),
            (Workload::Rr, Some(_)) => {
                reject!("--outstanding: the workload rr has one request at a time (accepted: 1)")
            }
            (Workload::Idle | Workload::Duplex, None) => Ok(CLOSED),
            (Workload::Idle | Workload::Duplex, Some(_)) => {
                reject!(
                    "--workload {name}: it has no rate and no number of requests (remove --rate and --outstanding)"
                )
            }
            (Workload::Gossipsub, None) => Ok(Pace::PerSecond(20.0)),
            (Workload::Burst, None) => Ok(Pace::PerSecond(2.0)),
            (Workload::Handshakes, None) => Ok(Pace::PerSecond(5.0)),
            (Workload::Burst | Workload::Handshakes, Some(Pace::PerSecond(rate)))
                if rate < FEWEST_PER_SECOND =>
            {
                reject!(
                    "--rate {rate}: the workload {name} has at least {FEWEST_PER_SECOND} per second"
                )
            }
            (_, Some(Pace::PerSecond(rate))) => Ok(Pace::PerSecond(rate)),
            (_, Some(_)) => {
                reject!("--outstanding: the workload {name} has a rate (accepted: --rate)")
            }
        }
    }

    pub(crate) fn load(&self, payload: Payload) -> Result<Load, Failure> {
        let pace = self.pace(&[payload])?;
        Ok(Load { payload, pace })
    }
}

/// What a message or a chunk has to hold.
fn least_bytes(workload: Workload) -> u32 {
    match workload {
        Workload::Gossipsub | Workload::Duplex => SMALLEST_MESSAGE,
        Workload::Stream | Workload::Rr | Workload::Burst => 1,
        Workload::RequestResponse | Workload::Idle | Workload::Handshakes => 0,
    }
}

fn outstanding(text: &str) -> Result<Pace, String> {
    match text.parse() {
        _ if text == "max" => Ok(Pace::Saturating),
        Ok(count @ 1..=1024) => Ok(Pace::Outstanding(count)),
        _ => Err("accepted: a number from 1 to 1024, or max".to_owned()),
    }
}

fn refuse_others(stack: &Stack, node: NodeConfig) -> Result<(), Failure> {
    let asked = [
        ("--workload", node.workload.to_possible_value()),
        ("--security", node.security.to_possible_value()),
        ("--transport", node.transport.to_possible_value()),
    ];
    for (option, value) in asked {
        let (value, accepted) = (value.expect("no value is hidden"), stack.accepted(option));
        let name = value.get_name();
        if !accepted.contains(&name) {
            reject!(
                "{option} {name}: nodes of {} do not have it (accepted: {})",
                stack.name,
                accepted.join(", ")
            );
        }
    }
    Ok(())
}

#[derive(Args, Clone, Debug)]
pub(crate) struct PayloadArg {
    #[arg(long, value_name = "SIZE", default_value = "64KiB", help = format!("What a request carries: {PAYLOAD_FORMS}"))]
    pub(crate) payload: Payload,
}
