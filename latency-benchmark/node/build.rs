//! Notes how the node is compiled, and what is inserted into the crates that it is made of.

use std::error::Error;

use swarm_patch::{node_build, stacks::LIBP2P};

fn main() -> Result<(), Box<dyn Error>> {
    Ok(node_build::note(
        &LIBP2P,
        &["quic", "tls", "gossipsub", "async-trait"],
    )?)
}
