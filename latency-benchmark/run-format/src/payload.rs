//! Sizes of payloads, with their units.

use std::fmt;
use std::str::FromStr;

use poll_probe::number::Number;
use serde::{Deserialize, Serialize};

/// How many bytes a request, a chunk or a message carries.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Payload {
    bytes: u32,
}

/// The accepted forms, for help texts and errors.
pub const PAYLOAD_FORMS: &str = "bytes with a unit: 0B, 512B, 4KiB, 1MiB, at most 16MiB";

/// Of a message that is published: it has the time of publishing, and a number.
pub const SMALLEST_MESSAGE: u32 = 16;

/// With what a protocol adds to a payload.
pub const LARGEST_MESSAGE: usize = BYTES.most as usize + 1024;

const BYTES: Number = Number {
    units: &[("B", 1.0), ("KiB", 1024.0), ("MiB", 1_048_576.0)],
    bare: "",
    least: 0.0,
    most: 16.0 * 1_048_576.0,
};

impl Payload {
    pub const fn kib(kib: u32) -> Payload {
        Payload { bytes: kib << 10 }
    }

    pub const fn of_bytes(bytes: u32) -> Payload {
        Payload { bytes }
    }

    pub fn bytes(self) -> u32 {
        self.bytes
    }

    pub fn len(self) -> usize {
        self.bytes as usize
    }

    pub fn is_empty(self) -> bool {
        self.bytes == 0
    }

    /// The number and its unit, apart: "64 KiB".
    pub fn in_words(self) -> String {
        let text = self.to_string();
        let number = text.trim_end_matches(char::is_alphabetic);
        format!("{number} {}", &text[number.len()..])
    }
}

impl FromStr for Payload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = BYTES.read_whole(text);
        bytes
            .map(|bytes| Payload::of_bytes(bytes as u32))
            .map_err(|wrong| format!("payload {wrong} (accepted: {PAYLOAD_FORMS})"))
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&BYTES.show(self.bytes.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "0B", "1B", "512B", "4KiB", "256KiB", "1MiB", "16MiB", "1025B",
        ] {
            assert_eq!(text.parse::<Payload>().expect(text).to_string(), text);
        }
        for (text, shown) in [("4096B", "4KiB"), ("1.5 MiB", "1536KiB")] {
            assert_eq!(text.parse::<Payload>().expect(text).to_string(), shown);
        }
    }

    #[test]
    fn wrong_sizes_are_one_line_with_the_accepted_forms() {
        for (text, problem) in [
            ("17MiB", "more than 16MiB"),
            ("99999999999999999999B", "more than 16MiB"),
            ("4096", "no unit"),
            ("-1", "negative"),
            ("", "not a number"),
            ("big", "not a number"),
            ("4KB", "unknown unit \"KB\""),
            ("1.5B", "too many decimals"),
        ] {
            let error = text.parse::<Payload>().expect_err(text);
            assert!(
                error.contains(problem) && error.contains("accepted"),
                "{error}"
            );
            assert_eq!(error.lines().count(), 1);
        }
    }
}
