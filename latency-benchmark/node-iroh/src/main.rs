//! The program that is measured.

use std::process::ExitCode;

fn main() -> ExitCode {
    node_kit::main::<iroh_node::IrohNode>()
}
