//! Does nothing. Cargo refuses two packages with the same `links`, but asks for a build script beside that key. With two
//! copies in one program, budgets would be in force in one of them and polls would be recorded by the other.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
