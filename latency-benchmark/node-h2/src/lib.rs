//! The node program of HTTP/2 over TCP, with the crate h2 alone. Central has one connection to each peer and sends requests,
//! which the peers echo.

mod central;
pub mod gate;
mod peer;
mod stream;

use std::convert::Infallible;
use std::process::ExitCode;

use node_kit::{Central, NodeProgram, listen_address, peer_addresses};
use program::Failure;
use run_format::{
    Measured, Measurement, NodeConfig, NodeDescription, PeerTask, Security, Transport, Workload,
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
        let supported = NodeConfig {
            workload: Workload::RequestResponse,
            parts: Vec::new(),
            security: Security::Plaintext,
            transport: Transport::Tcp,
        };
        let names = "the workload request-response over tcp and plaintext";
        node_kit::refuse_unless(*node == supported, measurement, names)
    }

    async fn peer(task: &PeerTask) -> Result<Infallible, Failure> {
        Ok(peer::listen(listen_address(&task.listen)?).await?)
    }

    fn central(central: Central) -> Result<Measured, Failure> {
        let accepted = "such as 127.0.0.1:4001";
        let peers = peer_addresses(central.task(), accepted, |text| text.parse().ok())?;
        Ok(central::run(central, peers)?)
    }
}
