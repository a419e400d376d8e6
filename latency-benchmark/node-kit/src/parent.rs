//! What a node program prints for the process that started it. A parent that does not read any more has ended this process,
//! or is about to.

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
