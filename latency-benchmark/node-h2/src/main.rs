//! The program that is measured.

fn main() -> std::process::ExitCode {
    h2_node::main()
}
