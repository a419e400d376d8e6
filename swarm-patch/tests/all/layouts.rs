//! A small program of our own, linked with several layouts.

use std::fs;
use std::process::Command;

use swarm_patch::layouts::{self, LAYOUTS};

use crate::scratch::missing;

#[test]
fn layouts_are_other_files_that_do_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let (package, done) = (folder.path().join("small"), folder.path().join("done"));
    fs::create_dir_all(package.join("src")).expect("a folder");
    fs::create_dir(&done).expect("a folder");
    let manifest = "[package]\nname = \"small\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(package.join("Cargo.toml"), manifest).expect("written");
    let main = "fn main() { println!(\"{}\", std::env::args().count()); }\n";
    fs::write(package.join("src/main.rs"), main).expect("written");

    let mut command = Command::new(env!("CARGO"));
    command.args(["rustc", "--offline", "--release", "--target-dir"]);
    command
        .arg(folder.path().join("target"))
        .current_dir(&package);
    let output = layouts::build(command, &done).expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    if layouts::count(&done) == 0 {
        missing::<()>("a linker that knows --randomize-section-padding (LLD 20 or newer)");
        return;
    }
    let file = |layout| fs::read(layouts::file(&done, layout)).expect("a program");
    assert_ne!(file(1), file(2));
    for layout in 1..=LAYOUTS {
        let output = Command::new(layouts::file(&done, layout)).output();
        assert_eq!(output.expect("it runs").stdout, b"1\n");
    }
}

#[test]
fn a_program_that_does_not_compile_gives_the_compilers_words_and_no_layout() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = layouts::build(Command::new("/bin/false"), folder.path()).expect("it runs");
    assert!(!output.status.success());
    assert_eq!(layouts::count(folder.path()), 0);
}
