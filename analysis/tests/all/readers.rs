//! The program does not fail if nobody reads its output, and says so if its output is lost.

use std::fs::File;
use std::io::pipe;
use std::process::{Command, Stdio};

use crate::fixture::{FixtureCopy, path};

/// Runs a verb with this standard output. Returns the exit code and what the program said.
fn on(stdout: Stdio, verb: &str, copy: &FixtureCopy) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_analysis"))
        .args([verb, path(&copy.dir())])
        .stdout(stdout)
        .output()
        .expect("the program runs");
    let said = String::from_utf8(output.stderr).expect("text");
    (output.status.code(), said)
}

#[test]
fn a_report_that_nobody_reads_is_written() {
    let copy = FixtureCopy::new();
    for verb in ["report", "verify"] {
        let unread = pipe().expect("a pipe").1.into();
        assert_eq!(on(unread, verb, &copy), (Some(0), String::new()));
        let full = File::options().write(true).open("/dev/full");
        let (code, said) = on(full.expect("a device").into(), verb, &copy);
        assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
        assert!(said.starts_with("error: standard output: "), "{said}");
        assert!(copy.dir().join("report/report.md").is_file());
    }
}
