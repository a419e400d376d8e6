//! Numbers with units, as people type them: `8`, `50us`, `1.5 s`, `256KiB`, `0.1%`, `6/h`.
//!
//! A number consists of digits, and may have a decimal point. Its unit follows, with or without spaces between. A sign, an
//! exponent or an infinity is refused. All arguments and files of the workspace have this grammar.

use std::time::Duration;

/// A kind of number. All its fields count in the smallest unit.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// The units in ascending order.
    pub units: &'static [(&'static str, f64)],
    /// The unit of a number that is typed without one. If `units` does not have it, a number without a unit is refused.
    pub bare: &'static str,
    /// A smaller number is refused.
    pub least: f64,
    /// A larger number is refused.
    pub most: f64,
}

/// Times above zero, in nanoseconds.
pub const TIME: Number = Number {
    units: &[
        ("ns", 1.0),
        ("us", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 60e9),
        ("h", 3600e9),
    ],
    bare: "",
    least: 1.0,
    most: 1000.0 * 3600e9,
};

/// Percentages above zero.
pub const PERCENT: Number = above_zero(&[("%", 1.0)]);

/// Percentage points above zero.
pub const POINTS: Number = above_zero(&[("pp", 1.0)]);

const fn above_zero(units: &'static [(&'static str, f64)]) -> Number {
    Number {
        units,
        bare: "",
        least: f64::MIN_POSITIVE,
        most: f64::MAX,
    }
}

impl Number {
    /// Reads what was typed. The error quotes the text and says what is wrong with it.
    pub fn read(&self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let wrong = |problem: &str| Err(format!("{text:?} {problem}"));
        let is_unit = |letter: char| !letter.is_ascii_digit() && letter != '.';
        let (number, unit) = text.split_at(text.find(is_unit).unwrap_or(text.len()));
        let Ok(number) = number.parse::<f64>() else {
            return wrong(match text.starts_with('-') {
                true => "is negative",
                false => "is not a number",
            });
        };
        let unit = match unit.trim_start() {
            "" => self.bare,
            unit => unit,
        };
        let Some((_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return match unit {
                "" => wrong("has no unit"),
                _ => wrong(&format!("has the unknown unit {unit:?}")),
            };
        };
        match number * factor {
            value if value > self.most => wrong(&format!("is more than {}", self.show(self.most))),
            value if value >= self.least => Ok(value),
            0.0 => wrong("is zero"),
            _ => wrong(&format!("is less than {}", self.show(self.least))),
        }
    }

    /// Reads a number, and refuses a fraction of the smallest unit.
    pub fn read_whole(&self, text: &str) -> Result<u64, String> {
        /// Errors by rounding are smaller.
        const FRACTION: f64 = 1e-3;
        let value = self.read(text)?;
        match value.round() {
            whole if (value - whole).abs() < FRACTION => Ok(whole as u64),
            _ => Err(format!("{text:?} has too many decimals")),
        }
    }

    /// The text form, in the largest unit of which the value is a multiple.
    pub fn show(&self, value: f64) -> String {
        let mut units = self.units.iter().rev();
        let largest = units.find(|(_, factor)| value > 0.0 && value % factor == 0.0);
        let (unit, factor) = largest.unwrap_or(&self.units[0]);
        format!("{}{unit}", value / factor)
    }
}

/// Reads a time above zero.
pub fn time(text: &str) -> Result<Duration, String> {
    let ns = TIME.read_whole(text);
    ns.map(Duration::from_nanos)
        .map_err(|wrong| format!("{wrong} (accepted: a time such as 50us, 90s or 1.5h)"))
}

/// Reads a number above zero without a unit.
pub fn decimal(text: &str) -> Result<f64, String> {
    above_zero(&[("", 1.0)])
        .read(text)
        .map_err(|wrong| format!("{wrong} (accepted: a number above zero such as 20 or 0.5)"))
}
