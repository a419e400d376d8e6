//! The program that counts for `--gate`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gate_program::main(h2_node::gate::run)
}
