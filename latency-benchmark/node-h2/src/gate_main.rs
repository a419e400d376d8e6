//! The program that counts for `--gate`.

fn main() -> std::process::ExitCode {
    gate_program::main(h2_node::gate::run)
}
