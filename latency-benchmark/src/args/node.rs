//! What central and its peers have to agree on.

use clap::{Args, ValueEnum};
use program::{Failure, reject};
use run_format::config::{Load, NodeConfig, Pace, Security, Transport, Workload};
use run_format::number::decimal;
use run_format::payload::{PAYLOAD_FORMS, Payload, SMALLEST_MESSAGE};
use swarm_patch::stacks::Stack;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Nodes and their load")]
pub(crate) struct NodeArgs {
    /// What the nodes do with each other
    #[arg(long, value_enum, default_value = "request-response")]
    pub(crate) workload: Workload,
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
    /// gossipsub: messages per second and node, 20 by default
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
            workload: self.workload,
            security: security.unwrap_or(Security::Plaintext),
            transport: transport.unwrap_or(Transport::Tcp),
        };
        refuse_others(stack, node)?;
        Ok(node)
    }

    /// The pace, if it fits the workload and every one of the payloads.
    pub(crate) fn pace(&self, payloads: &[Payload]) -> Result<Pace, Failure> {
        const CLOSED: Pace = Pace::Outstanding(2);
        const MESSAGES_PER_SECOND: f64 = 20.0;
        if let Some(rate) = self.rate
            && rate > 1e6
        {
            reject!("--rate {rate}: it is more than 1000000 per second");
        }
        let is_empty = payloads.iter().any(|size| size.bytes() == 0);
        match (self.workload, self.rate, self.outstanding) {
            (Workload::Stream, Some(_), _) => reject!(
                "--rate: the workload stream sends as fast as it can (accepted: --outstanding)"
            ),
            (Workload::Gossipsub, _, Some(_)) => reject!(
                "--outstanding: the workload gossipsub publishes at a rate (accepted: --rate)"
            ),
            (Workload::Gossipsub, rate, None) => {
                if let Some(size) = payloads.iter().find(|size| size.bytes() < SMALLEST_MESSAGE) {
                    reject!(
                        "--payload {size}: a message of the workload gossipsub has at least {SMALLEST_MESSAGE} bytes"
                    );
                }
                Ok(Pace::PerSecond(rate.unwrap_or(MESSAGES_PER_SECOND)))
            }
            (Workload::Stream, _, Some(Pace::Saturating)) => reject!(
                "--outstanding max: only the workload request-response finds that number (accepted: a number)"
            ),
            (Workload::Idle, None, None) => Ok(CLOSED),
            (Workload::Idle, ..) => {
                reject!("--workload idle: it sends no requests (remove --rate and --outstanding)")
            }
            (Workload::Rr, Some(_), _) => reject!(
                "--rate: the workload rr sends a request when the last one is answered, so it has no rate (remove --rate)"
            ),
            (Workload::Rr, None, Some(pace)) if pace != Pace::Outstanding(1) => reject!(
                "--outstanding: the workload rr has one request at a time (accepted: 1)"
            ),
            (Workload::Rr | Workload::Stream, ..) if is_empty => {
                reject!("--payload 0B: a request or chunk of this workload has at least 1 byte")
            }
            (Workload::Rr, ..) => Ok(Pace::Outstanding(1)),
            (_, Some(rate), _) => Ok(Pace::PerSecond(rate)),
            (_, None, outstanding) => Ok(outstanding.unwrap_or(CLOSED)),
        }
    }

    pub(crate) fn load(&self, payload: Payload) -> Result<Load, Failure> {
        let pace = self.pace(&[payload])?;
        Ok(Load { payload, pace })
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
