//! Notes how the node is compiled, and what is inserted into the crates that it is made of.

use std::env;
use std::error::Error;

use swarm_patch::node_build;
use swarm_patch::stacks::LIBP2P;

fn main() -> Result<(), Box<dyn Error>> {
    let mut stack = LIBP2P;
    if env::var_os("CARGO_FEATURE_QUIC").is_none() {
        stack.packages = &["libp2p-swarm", "yamux"];
    }
    Ok(node_build::note(
        &stack,
        &["quic", "tls", "gossipsub", "async-trait"],
    )?)
}
