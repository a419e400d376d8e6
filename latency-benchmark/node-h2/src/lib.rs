//! The node program of HTTP/2 over TCP, with the crate h2 alone. Central has one connection to each peer and sends requests,
//! which the peers echo.

mod central;
pub mod gate;
mod peer;
mod stream;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::{Context, Result};
use node_kit::{Central, NodeProgram};
use program::{Failure, bad_input};
use run_format::{
    Listen, Measured, Measurement, NodeConfig, NodeDescription, PeerTask, Security, Transport,
    Workload,
};

/// The `main` function. It is compiled once, here, for all programs of this package.
pub fn main() -> ExitCode {
    node_kit::main::<H2Node>()
}

struct H2Node;

impl NodeProgram for H2Node {
    fn describe() -> NodeDescription {
        node_kit::description!()
    }

    fn check(node: &NodeConfig, measurement: &Measurement) -> Result<(), Failure> {
        let known = NodeConfig {
            workload: Workload::RequestResponse,
            parts: Vec::new(),
            security: Security::Plaintext,
            transport: Transport::Tcp,
        };
        let name = "the workload request-response over tcp and plaintext";
        node_kit::refuse_unless(*node == known, measurement, name)
    }

    async fn peer(task: &PeerTask) -> Result<Infallible, Failure> {
        let at = match &task.listen {
            Listen::Ip(ip) => SocketAddr::new(*ip, 0),
            Listen::Address(text) => address(text)?,
        };
        Ok(peer::listen(at).await?)
    }

    fn central(central: Central) -> Result<Measured, Failure> {
        let peers = central.task().peers.iter().map(|peer| address(peer));
        let peers: Result<_, _> = peers.collect();
        Ok(central::run(central, peers?)?)
    }
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    text.parse::<SocketAddr>()
        .with_context(|| format!("{text}: not an address (accepted: such as 127.0.0.1:4001)"))
        .map_err(bad_input)
}
