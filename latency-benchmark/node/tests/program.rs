//! The program's verbs, as the tool starts them.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use program::ChildLimits;

fn run(verb: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_libp2p-node"))
        .args(verb)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    ChildLimits::SHORT_ANSWER.rest_of(&mut child).unwrap()
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    for (verb, input) in [
        (&[][..], ""),
        (&["peer"], "{}\n"),
        (&["central"], "no task\n"),
    ] {
        let output = run(verb, input);
        assert_eq!(output.status.code(), Some(2), "{verb:?}");
        let lines = String::from_utf8(output.stderr).unwrap();
        assert_eq!(lines.lines().count(), 1, "{lines}");
    }
}
