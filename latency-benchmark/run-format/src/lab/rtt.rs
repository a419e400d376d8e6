//! The properties of a link that users choose: round-trip time, loss and jitter.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use program::number::{Number, PERCENT, TIME};
use serde::{Deserialize, Serialize};

/// A round-trip time, whole nanoseconds between zero and ten seconds.
///
/// Its text form is a time, in milliseconds if it has no unit: `50`, `0.5`, `50ms`. In files it is a number of
/// milliseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rtt(Duration);

const TIME_OF_LINK: Number = Number {
    bare: "ms",
    least: 0.0,
    most: 10e9,
    ..TIME
};

impl Rtt {
    pub const ZERO: Rtt = Rtt(Duration::ZERO);

    pub fn from_ms(ms: f64) -> Result<Rtt, String> {
        format!("{ms:.6}").parse()
    }

    pub fn ms(self) -> f64 {
        self.0.as_nanos() as f64 / 1e6
    }

    /// Half of it, which is what each end of a link adds.
    pub fn one_way(self) -> Duration {
        self.0 / 2
    }

    pub fn duration(self) -> Duration {
        self.0
    }

    pub fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

/// The accepted forms of a round-trip time, for help texts and errors.
pub const RTT_FORMS: &str = "milliseconds from 0 to 10000, with decimals, or a time: 50, 0.5, 50ms";

impl FromStr for Rtt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        /// Anything less would be rounded to no delay.
        const SHORTEST_NS: u64 = 1000;
        let wrong = match TIME_OF_LINK.read_whole(text) {
            Ok(1..SHORTEST_NS) => format!("{text:?} is less than 1us"),
            Ok(ns) => return Ok(Rtt(Duration::from_nanos(ns))),
            Err(wrong) => wrong,
        };
        Err(format!("round-trip time {wrong} (accepted: {RTT_FORMS})"))
    }
}

impl fmt::Display for Rtt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.ms().to_string())
    }
}

impl From<Rtt> for f64 {
    fn from(rtt: Rtt) -> f64 {
        rtt.ms()
    }
}

impl TryFrom<f64> for Rtt {
    type Error = String;

    fn try_from(ms: f64) -> Result<Self, Self::Error> {
        Rtt::from_ms(ms)
    }
}

/// The share of packets that each end of a link loses at random, in percent: `0.1%`.
pub fn loss(text: &str) -> Result<f64, String> {
    const SHARE: Number = Number {
        most: 100.0,
        ..PERCENT
    };
    SHARE.read(text).map_err(|wrong| {
        format!("loss {wrong} (accepted: a percentage of the packets in each direction: 0.1%)")
    })
}

/// The largest deviation of the delay at each end of a link from its mean: `1ms`.
///
/// Packets overtake one another where it is larger than the time between them.
pub fn jitter(text: &str) -> Result<Rtt, String> {
    let above_zero = Number {
        least: 1.0,
        ..TIME_OF_LINK
    };
    let ns = above_zero.read_whole(text).map_err(|wrong| {
        format!("jitter {wrong} (accepted: milliseconds with decimals, or a time: 1, 0.5, 1ms)")
    })?;
    Ok(Rtt(Duration::from_nanos(ns)))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Netem where the kernel has it, else nfqueue
    #[default]
    Auto,
    /// The kernel's queueing discipline of that name
    Netem,
    /// The delay line, a process that holds packets back by the kernel's NFQUEUE
    Nfqueue,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_rtt_is_read_with_and_without_its_unit_and_decimals() {
        for (text, ns, shown) in [
            ("50", 50_000_000, "50"),
            ("50ms", 50_000_000, "50"),
            (" 0.5 ms ", 500_000, "0.5"),
            ("50us", 50_000, "0.05"),
            ("0", 0, "0"),
            ("0.001", 1_000, "0.001"),
            ("10000", 10_000_000_000, "10000"),
        ] {
            let rtt: Rtt = text.parse().expect(text);
            assert_eq!(rtt.duration(), Duration::from_nanos(ns), "{text}");
            assert_eq!(rtt.to_string(), shown);
            assert_eq!(shown.parse(), Ok(rtt));
        }
    }

    #[test]
    fn an_rtt_that_makes_no_sense_is_refused_with_the_reason() {
        for (text, problem) in [
            ("-1", "negative"),
            ("NaN", "not a number"),
            ("inf", "not a number"),
            ("", "not a number"),
            ("ms", "not a number"),
            ("1.2.3", "not a number"),
            ("5e1", "unknown unit"),
            ("0.5us", "less than 1us"),
            ("10000.1", "more than 10s"),
        ] {
            let error = text.parse::<Rtt>().expect_err(text);
            assert!(error.contains(problem), "{text}: {error}");
            assert!(error.contains("accepted: milliseconds"), "{error}");
        }
        assert!(Rtt::from_ms(f64::NAN).is_err());
        assert!(Rtt::from_ms(-0.1).is_err());
    }

    #[test]
    fn loss_needs_its_sign_and_a_share() {
        assert_eq!(loss("0.1%"), Ok(0.1));
        for text in ["0.1", "0%", "101%", "-1%", "x%"] {
            loss(text).expect_err(text);
        }
    }

    #[test]
    fn jitter_is_a_positive_time() {
        assert_eq!(jitter("1ms").map(Rtt::ms), Ok(1.0));
        assert_eq!(jitter("0.5").map(Rtt::ms), Ok(0.5));
        for text in ["0", "-1ms", "1%", "10001"] {
            jitter(text).expect_err(text);
        }
    }

    #[test]
    fn in_files_an_rtt_is_a_number_of_milliseconds() {
        let rtt: Rtt = "2.5".parse().expect("a valid time");
        assert_eq!(serde_json::to_string(&rtt).expect("plain data"), "2.5");
        assert_eq!(serde_json::from_str::<Rtt>("2.5").expect("a number"), rtt);
        assert!(serde_json::from_str::<Rtt>("-1.0").is_err());
    }
}
