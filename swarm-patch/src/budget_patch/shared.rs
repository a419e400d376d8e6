//! What the files of a budget's patch share.

use crate::insertion::{Insertion, Place};

/// The file that cargo builds a crate with.
pub const MANIFEST: &str = "Cargo.toml";

/// Upstream's repository of a package.
pub fn repository(package: &str) -> &'static str {
    match package {
        "yamux" => "https://github.com/libp2p/rust-yamux",
        _ => "https://github.com/libp2p/rust-libp2p",
    }
}

/// The lines of a text before a line, with the indentation of the line `like`.
pub(super) fn text_before(before: usize, like: usize, text: &str) -> Vec<Insertion> {
    let place = Place::OwnLine { like };
    let line = |line| Insertion {
        place,
        ..Insertion::new(before, "budget", line)
    };
    text.lines().map(line).collect()
}
