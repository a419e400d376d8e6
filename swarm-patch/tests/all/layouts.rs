//! A small program of our own, linked with several layouts.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use swarm_patch::layouts::{self, LAYOUTS};

use crate::scratch::missing;

fn has_run(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

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
    layouts::build(command, &done, has_run).expect("it compiles");
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
fn a_program_that_does_not_compile_has_no_layout() {
    let folder = tempfile::tempdir().expect("a folder");
    layouts::build(Command::new("/bin/false"), folder.path(), has_run).expect_err("it fails");
    assert_eq!(layouts::count(folder.path()), 0);
}
