//! A node made of libp2p: central, which is observed, and its peers. It knows nothing of the network that it
//! runs in, and nothing of the tool that starts it but `run_format::protocol`.

mod asker;
mod beside_tcp;
pub mod central;
mod linked;
mod peer;
mod swarm;
pub mod workload;

use std::convert::Infallible;

use anyhow::anyhow;
use node_kit::{Central, NodeProgram, Parent};
use program::{Failure, bad_input};
use run_format::{
    config::{Measurement, NodeConfig, Workload},
    protocol::{CentralTask, Measured, NodeDescription, PeerTask},
};

pub use self::linked::Linked;

/// The node program.
pub struct Libp2pNode;

impl NodeProgram for Libp2pNode {
    fn describe() -> NodeDescription {
        node_kit::description!()
    }

    fn peer(task: PeerTask) -> Result<Infallible, Failure> {
        check(&task.node, &task.measurement)?;
        peer::run(&task)
    }

    fn central(task: CentralTask, parent: Parent) -> Result<Measured, Failure> {
        check(&task.config.node, &task.config.measurement)?;
        let peers = central::addresses(&task)?;
        let central = Central::new(task, parent, Libp2pNode::describe().program.sites)?;
        Ok(match central.turns() {
            Some(turns) => beside_tcp::run(central, turns, peers)?,
            None => central::run(central, peers)?,
        })
    }
}

/// Refuses what this program was built without, and what does not go together.
fn check(node: &NodeConfig, measurement: &Measurement) -> Result<(), Failure> {
    let built_with = Libp2pNode::describe().program.features;
    let has = |feature: &str| built_with.iter().any(|it| it == feature);
    if let Some((feature, option)) = node.features().into_iter().find(|(it, _)| !has(it)) {
        return Err(bad_input(anyhow!(
            "{option}: this node program was built without the cargo feature {feature}"
        )));
    }
    if *measurement == Measurement::BesideTcp && node.workload != Workload::Rr {
        return Err(bad_input(anyhow!(
            "only the workload rr is measured beside TCP, not {:?}",
            node.workload
        )));
    }
    Ok(())
}
