//! What a node program prints for the process that started it. A parent that does not read any more has ended this process,
//! or is about to.

use std::io::{self, Write};

use run_format::{NodeMessage, Stall};
use serde::Serialize;

/// Prints a line of JSON.
pub(crate) fn report(message: &impl Serialize) {
    announce(&serde_json::to_string(message).expect("it is plain data"));
}

/// Tells that a stream has stalled. Central is to end with an error then.
pub fn report_stall(stall: Stall) {
    report(&NodeMessage::Stalled(stall));
}

/// Prints a line, such as the address at which a peer listens.
pub fn announce(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
