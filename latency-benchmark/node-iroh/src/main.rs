//! The program that is measured.

fn main() -> std::process::ExitCode {
    iroh_node::main()
}
