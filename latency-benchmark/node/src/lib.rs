//! The node program of libp2p: central, which is observed, and its peers. It does not know the network in which it runs. It
//! exchanges the messages of `run-format/src/protocol.rs` with the tool that starts it.

mod asker;
mod beside_tcp;
pub mod central;
pub mod gate;
mod peer;
mod peer_swarm;
mod swarm;
pub mod workload;

use std::convert::Infallible;
use std::process::ExitCode;

use node_kit::{Central, NodeProgram, peer_addresses};
use program::{Failure, reject};
use run_format::{Measured, Measurement, NodeConfig, NodeDescription, PeerTask, Workload};

pub use self::peer_swarm::PeerSwarm;

/// The `main` function. It is compiled once, here, for all programs of this package.
pub fn main() -> ExitCode {
    node_kit::main::<Libp2pNode>()
}

/// The node program.
pub struct Libp2pNode;

impl NodeProgram for Libp2pNode {
    fn describe() -> NodeDescription {
        node_kit::description!()
    }

    /// Refuses features that this program was built without, and combinations that do not work.
    fn check(node: &NodeConfig, measurement: &Measurement) -> Result<(), Failure> {
        let built_with = Libp2pNode::describe().program.features;
        for (feature, option) in node.features() {
            if !built_with.iter().any(|built| built == feature) {
                reject!(
                    "{option}: this node program was built without the cargo feature {feature}"
                );
            }
        }
        if *measurement == Measurement::Libp2pAndRawTcp && node.workload != Workload::Rr {
            reject!(
                "only the workload rr is measured beside TCP, not {:?}",
                node.workload
            );
        }
        if let Measurement::Soak(plan) = measurement
            && node.workload == Workload::Handshakes
            && plan.churn.period().is_some()
        {
            reject!("--churn: the workload handshakes needs peers that stay (accepted: none)");
        }
        Ok(())
    }

    async fn peer(task: &PeerTask) -> Result<Infallible, Failure> {
        peer::run(task).await
    }

    fn central(central: Central) -> Result<Measured, Failure> {
        let accepted = "such as /ip4/127.0.0.1/tcp/4001";
        let peers = peer_addresses(central.task(), accepted, |text| text.parse().ok())?;
        Ok(match central.path_user() {
            Some(user) => beside_tcp::run(central, user, peers)?,
            None => central::run(central, peers)?,
        })
    }
}
