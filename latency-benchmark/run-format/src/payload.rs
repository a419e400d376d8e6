//! Sizes of payloads, with their units.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// How many bytes a request, a chunk or a message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Payload {
    bytes: u32,
}

/// The accepted forms, for help texts and errors.
pub const PAYLOAD_FORMS: &str = "bytes with a unit: 0B, 512B, 4KiB, 1MiB, at most 16MiB";

/// Of a message that is published: it has the time of publishing, and a number.
pub const SMALLEST_MESSAGE: u32 = 16;

/// With what a protocol adds to a payload.
pub const LARGEST_MESSAGE: usize = Payload::LARGEST as usize + 1024;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

impl Payload {
    const LARGEST: u64 = 16 * MIB;

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
        let (number, unit) = number_and_unit(&text);
        format!("{number} {unit}")
    }
}

fn number_and_unit(text: &str) -> (&str, &str) {
    let digits = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(digits.unwrap_or(text.len()))
}

impl FromStr for Payload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |problem| format!("payload {text:?}: {problem} (accepted: {PAYLOAD_FORMS})");
        let text = text.trim();
        let (number, unit) = number_and_unit(text);
        let unit_bytes = match (number, unit.trim_start()) {
            _ if text.starts_with('-') => return Err(error("it is negative")),
            ("", _) => return Err(error("it is not a whole number")),
            (_, "B") => 1,
            (_, "KiB") => KIB,
            (_, "MiB") => MIB,
            (_, "") => return Err(error("it has no unit")),
            _ => return Err(error("the unit is unknown")),
        };
        let bytes = number.parse::<u64>().ok();
        let bytes = bytes.and_then(|number| number.checked_mul(unit_bytes));
        let bytes = bytes.filter(|bytes| *bytes <= Payload::LARGEST);
        let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
        bytes.map_or_else(
            || Err(error("it is more than 16MiB")),
            |bytes| Ok(Payload { bytes }),
        )
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = u64::from(self.bytes);
        let text = match bytes {
            0 => "0B".to_owned(),
            _ if bytes.is_multiple_of(MIB) => format!("{}MiB", bytes / MIB),
            _ if bytes.is_multiple_of(KIB) => format!("{}KiB", bytes / KIB),
            _ => format!("{bytes}B"),
        };
        f.pad(&text)
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
        assert_eq!(
            "4096B".parse::<Payload>().expect("bytes").to_string(),
            "4KiB"
        );
    }

    #[test]
    fn wrong_sizes_are_one_line_with_the_accepted_forms() {
        for (text, problem) in [
            ("17MiB", "more than 16MiB"),
            ("99999999999999999999B", "more than 16MiB"),
            ("4096", "no unit"),
            ("-1", "negative"),
            ("", "not a whole number"),
            ("big", "not a whole number"),
            ("4KB", "unit is unknown"),
            ("1.5MiB", "unit is unknown"),
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
