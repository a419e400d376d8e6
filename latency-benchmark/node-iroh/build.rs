//! Notes how the node is compiled, and what is inserted into noq.

use std::error::Error;

use swarm_patch::node_build;
use swarm_patch::stacks::IROH;

fn main() -> Result<(), Box<dyn Error>> {
    Ok(node_build::note(&IROH, &["gossipsub", "quic"])?)
}
