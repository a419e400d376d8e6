//! Prints messages for the parent, which is the process that started this one. If the parent does not read them any more, it
//! has ended this process or is about to, so errors of writing are ignored.

use std::io::{self, Write};

use serde::Serialize;

/// Prints a line of JSON.
pub fn report(message: &impl Serialize) {
    announce(&serde_json::to_string(message).expect("it is plain data"));
}

/// Prints a line, such as the address at which a peer listens.
pub fn announce(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
