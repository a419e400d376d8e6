//! The node program of iroh. Central has one connection to each peer, at the address that it is given. It uses no relay, no
//! address lookup, no DNS and no router.

mod central;
mod gossip;
mod peer;
mod quic;

use std::convert::Infallible;
use std::process::ExitCode;

use iroh::EndpointAddr;
use node_kit::{Central, NodeProgram, peer_addresses};
use program::Failure;
use run_format::{
    Measured, Measurement, NodeConfig, NodeDescription, PeerTask, Security, Transport, Workload,
};

/// The `main` function. It is compiled once, here, for all programs of this package.
pub fn main() -> ExitCode {
    node_kit::main::<IrohNode>()
}

struct IrohNode;

impl NodeProgram for IrohNode {
    fn describe() -> NodeDescription {
        node_kit::description!()
    }

    fn check(node: &NodeConfig, measurement: &Measurement) -> Result<(), Failure> {
        let supported = NodeConfig {
            workload: match node.workload {
                workload @ (Workload::Stream | Workload::Gossipsub) => workload,
                _ => Workload::RequestResponse,
            },
            security: Security::Tls,
            transport: Transport::Quic,
            parts: Vec::new(),
        };
        let names = "the workloads request-response, stream and gossipsub over quic and tls";
        node_kit::refuse_unless(*node == supported, measurement, names)
    }

    async fn peer(task: &PeerTask) -> Result<Infallible, Failure> {
        peer::run(task).await
    }

    fn central(central: Central) -> Result<Measured, Failure> {
        let peers = peer_addresses(central.task(), "ID@IP:PORT", address)?;
        Ok(central::run(central, peers)?)
    }
}

/// The address of a peer, as the peer prints it.
fn address(text: &str) -> Option<EndpointAddr> {
    let (id, at) = text.split_once('@')?;
    Some(EndpointAddr::new(id.parse().ok()?).with_ip_addr(at.parse().ok()?))
}
