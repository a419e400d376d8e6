//! The program that is measured.

fn main() -> std::process::ExitCode {
    libp2p_node::main()
}
