//! What central and its peers have to agree on.

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use program::{Failure, bad_input};
use run_format::{
    config::{Load, NodeConfig, Pace, Security, Transport, Workload},
    payload::{PAYLOAD_FORMS, Payload},
};
use swarm_patch::stacks::Stack;

#[derive(Args, Clone, Debug)]
pub(crate) struct NodeArgs {
    /// What the nodes do with each other
    #[arg(long, value_enum, default_value = "request-response")]
    pub(crate) workload: Workload,
    /// What encrypts the TCP connections [default: noise, or what another stack has]
    #[arg(long, value_enum)]
    pub(crate) security: Option<Security>,
    /// What the connections are made of [default: tcp, or what another stack has]
    #[arg(long, value_enum)]
    pub(crate) transport: Option<Transport>,
    /// Keep this many unanswered requests per peer (closed loop) [default: 2]
    #[arg(long, value_name = "COUNT", conflicts_with = "rate", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) outstanding: Option<u32>,
    /// Send this many requests per second to each peer (open loop). With gossipsub: messages per second of
    /// each node [default: 20]
    #[arg(long, value_name = "PER_SECOND")]
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
        const OUTSTANDING: u32 = 2;
        const MESSAGES_PER_SECOND: f64 = 20.0;
        /// The time of publishing is in the message.
        const SMALLEST_MESSAGE: u32 = 8;
        let wrong = |text: String| Err(bad_input(anyhow!(text)));
        if let Some(rate) = self.rate
            && !(rate > 0.0 && rate <= 1e6)
        {
            return wrong(format!(
                "--rate {rate}: it is not between 0 and 1000000 per second"
            ));
        }
        match (self.workload, self.rate, self.outstanding) {
            (Workload::Stream, Some(_), _) => wrong(
                "--rate: the workload stream sends as fast as it can (accepted: --outstanding)"
                    .to_owned(),
            ),
            (Workload::Gossipsub, _, Some(_)) => wrong(
                "--outstanding: the workload gossipsub publishes at a rate (accepted: --rate)"
                    .to_owned(),
            ),
            (Workload::Gossipsub, rate, None) => {
                match payloads.iter().find(|size| size.bytes() < SMALLEST_MESSAGE) {
                    Some(size) => wrong(format!(
                        "--payload {size}: a message of the workload gossipsub has at least {SMALLEST_MESSAGE} bytes"
                    )),
                    None => Ok(Pace::PerSecond(rate.unwrap_or(MESSAGES_PER_SECOND))),
                }
            }
            (Workload::Idle, None, None) => Ok(Pace::Outstanding(OUTSTANDING)),
            (Workload::Idle, ..) => wrong(
                "--workload idle: it sends no requests (remove --rate and --outstanding)"
                    .to_owned(),
            ),
            (Workload::Rr, rate, outstanding) => one_at_a_time(rate, outstanding, payloads),
            (Workload::Stream, ..) if payloads.iter().any(|size| size.bytes() == 0) => {
                wrong("--payload 0B: a chunk of the workload stream has at least 1 byte".to_owned())
            }
            (_, Some(rate), _) => Ok(Pace::PerSecond(rate)),
            (_, None, outstanding) => Ok(Pace::Outstanding(outstanding.unwrap_or(OUTSTANDING))),
        }
    }

    pub(crate) fn load(&self, payload: Payload) -> Result<Load, Failure> {
        let pace = self.pace(&[payload])?;
        Ok(Load { payload, pace })
    }
}

/// Refuses what nodes of that stack cannot do.
pub(crate) fn refuse_others(stack: &Stack, node: NodeConfig) -> Result<(), Failure> {
    let asked = [
        ("--workload", node.workload.to_possible_value()),
        ("--security", node.security.to_possible_value()),
        ("--transport", node.transport.to_possible_value()),
    ];
    for (option, value) in asked {
        let (name, accepted) = (
            value.map(|it| it.get_name().to_owned()),
            stack.accepted(option),
        );
        if let Some(name) = name.filter(|name| !accepted.contains(&&**name)) {
            return Err(bad_input(anyhow!(
                "{option} {name}: nodes of {} do not have it (accepted: {})",
                stack.name,
                accepted.join(", ")
            )));
        }
    }
    Ok(())
}

/// The pace of request and response.
fn one_at_a_time(
    rate: Option<f64>,
    outstanding: Option<u32>,
    payloads: &[Payload],
) -> Result<Pace, Failure> {
    let wrong = |text: String| Err(bad_input(anyhow!(text)));
    match (rate, outstanding) {
        (Some(_), _) => {
            wrong("--rate: the workload rr sends a request when the last one is answered, so it has no rate (remove --rate)".to_owned())
        }
        (None, Some(count)) if count != 1 => wrong(format!(
            "--outstanding {count}: the workload rr has one request at a time (accepted: 1)"
        )),
        _ if payloads.iter().any(|size| size.bytes() == 0) => {
            wrong("--payload 0B: a request of the workload rr has at least 1 byte".to_owned())
        }
        _ => Ok(Pace::Outstanding(1)),
    }
}

/// How big a request is, where there is one size.
#[derive(Args, Clone, Debug)]
pub(crate) struct PayloadArg {
    #[arg(long, value_name = "SIZE", default_value = "64KiB", help = format!("What a request carries: {PAYLOAD_FORMS}"))]
    pub(crate) payload: Payload,
}
