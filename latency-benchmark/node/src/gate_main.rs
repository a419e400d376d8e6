//! The program that counts for `--gate`.

fn main() -> std::process::ExitCode {
    gate_program::main(libp2p_node::gate::run)
}
