//! A node made of iroh. Central has one connection to each peer, to the address that it is given. Nobody else is asked:
//! no relay, no address lookup, no DNS and no router.

mod central;
mod gossip;
mod peer;

use std::{convert::Infallible, net::SocketAddr};

use anyhow::{Context, Result, anyhow};
use iroh::{
    Endpoint, EndpointAddr, SecretKey,
    endpoint::{RecvStream, SendStream, presets},
};
use node_kit::{Central, NodeProgram};
use program::{Failure, bad_input};
use run_format::{
    config::{Measurement, NodeConfig, Security, Transport, Workload},
    protocol::{Measured, NodeDescription, PeerTask},
};

pub use self::{central::ask, peer::serve};

/// The node program.
pub struct IrohNode;

impl NodeProgram for IrohNode {
    fn describe() -> NodeDescription {
        node_kit::description!()
    }

    fn check(node: &NodeConfig, measurement: &Measurement) -> Result<(), Failure> {
        let known = NodeConfig {
            workload: match node.workload {
                Workload::Idle | Workload::Rr => Workload::RequestResponse,
                known => known,
            },
            security: Security::Tls,
            transport: Transport::Quic,
        };
        let name = "the workloads request-response, stream and gossipsub over quic and tls";
        node_kit::refuse_unless(*node == known, measurement, name)
    }

    async fn peer(task: &PeerTask) -> Result<Infallible, Failure> {
        peer::run(task).await
    }

    fn central(central: Central) -> Result<Measured, Failure> {
        let peers = central.task().peers.iter().map(|peer| address(peer));
        let peers = peers.collect::<Result<_, _>>()?;
        Ok(central::run(central, peers)?)
    }
}

/// The address of a peer, as the peer prints it.
fn address(text: &str) -> Result<EndpointAddr, Failure> {
    let parts = text.split_once('@');
    let parsed = parts.and_then(|(id, at)| {
        Some(EndpointAddr::new(id.parse().ok()?).with_ip_addr(at.parse().ok()?))
    });
    parsed.ok_or_else(|| bad_input(anyhow!("{text}: not an address (accepted: ID@IP:PORT)")))
}

/// What both sides speak.
pub const PROTOCOL: &[u8] = b"/latency-benchmark/1";

/// An endpoint with a socket at that address, or else with those that iroh makes. The preset has no relay and no address
/// lookup, and iroh is built without what asks routers for ports. Without relays iroh makes no report of the network.
pub async fn endpoint(at: Option<SocketAddr>, key: SecretKey) -> Result<Endpoint> {
    let mut builder = Endpoint::builder(presets::Minimal)
        .secret_key(key)
        .alpns(vec![PROTOCOL.to_vec()]);
    if let Some(at) = at {
        builder = builder.clear_ip_transports().bind_addr(at)?;
    }
    builder.bind().await.context("iroh cannot listen")
}

/// Sends all of `bytes`, after which nothing comes.
async fn send_all(mut stream: SendStream, bytes: &[u8]) -> Result<()> {
    stream.write_all(bytes).await?;
    Ok(stream.finish()?)
}

/// All that a stream receives, which is no more than `most` bytes.
async fn whole(mut stream: RecvStream, most: usize) -> Result<Vec<u8>> {
    Ok(stream.read_to_end(most).await?)
}
