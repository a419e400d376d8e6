//! Notes how the node is compiled, and what is inserted into h2.

use std::error::Error;

use swarm_patch::node_build;
use swarm_patch::stacks::H2;

fn main() -> Result<(), Box<dyn Error>> {
    Ok(node_build::note(&H2, &[])?)
}
