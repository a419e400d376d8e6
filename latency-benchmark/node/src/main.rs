//! The program that is measured.

use std::process::ExitCode;

fn main() -> ExitCode {
    node_kit::main::<libp2p_node::Libp2pNode>()
}
