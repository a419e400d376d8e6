//! A node made of libp2p: central, which is observed, and its peers. It knows nothing of the network that it
//! runs in, and nothing of the tool that starts it but `run_format::protocol`.

mod beside_tcp;
pub mod central;
mod linked;
mod peer;
mod swarm;
mod transaction;
pub mod workload;

use std::convert::Infallible;

use anyhow::anyhow;
use node_kit::{Central, NodeProgram, Parent};
use program::{Failure, bad_input};
use run_format::{
    config::{Measurement, NodeConfig, Workload},
    manifest::CompiledNode,
    protocol::{CentralTask, Measured, NodeDescription, PeerTask},
};

pub use self::linked::Linked;

/// The node program.
pub struct Libp2pNode;

impl NodeProgram for Libp2pNode {
    fn describe() -> NodeDescription {
        description()
    }

    fn peer(task: PeerTask) -> Result<Infallible, Failure> {
        check(&task.node, &task.measurement)?;
        peer::run(&task)
    }

    fn central(task: CentralTask, parent: Parent) -> Result<Measured, Failure> {
        let (node, measurement) = (task.config.node, &task.config.measurement);
        check(&node, measurement)?;
        let peers = central::addresses(&task)?;
        if *measurement == Measurement::BesideTcp {
            return Ok(beside_tcp::run(task, &peers, parent)?);
        }
        Ok(central::run(Central::new(task, parent)?, peers)?)
    }
}

/// What this program is, and how it was compiled.
pub fn description() -> NodeDescription {
    let list = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    NodeDescription {
        program: CompiledNode {
            stack: "libp2p".to_owned(),
            sha256: None,
            profile: env!("NODE_PROFILE").to_owned(),
            opt_level: env!("NODE_OPT_LEVEL").to_owned(),
            debug_assertions: cfg!(debug_assertions),
            rustflags: env!("NODE_RUSTFLAGS").to_owned(),
            target_features: env!("NODE_TARGET_FEATURES").to_owned(),
            features: list(env!("NODE_FEATURES")),
            rustc: env!("NODE_RUSTC").to_owned(),
        },
        upstream: serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/upstream.json")))
            .expect("the build script wrote it"),
        edits: include_str!(concat!(env!("OUT_DIR"), "/edits.diff")).to_owned(),
    }
}

/// Refuses what this program was built without, and what does not go together.
fn check(node: &NodeConfig, measurement: &Measurement) -> Result<(), Failure> {
    let built_with = env!("NODE_FEATURES");
    let has = |feature: &str| built_with.split_whitespace().any(|it| it == feature);
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
