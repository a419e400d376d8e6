//! The program that counts for `--gate`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gate_program::main(libp2p_node::gate::run)
}
