//! Quantities that users type: sizes of payloads, rates of restarts, crowds of tasks, and precisions.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use program::number::{Number, PERCENT, TIME};
use serde::{Deserialize, Serialize};

use crate::plausible::{COUNT, plausible};
use crate::serde_as_text;

/// The number of bytes that a request, a chunk or a message carries.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Payload {
    bytes: u32,
}

/// The accepted forms, for help texts and errors.
pub const PAYLOAD_FORMS: &str = "bytes with a unit: 0B, 512B, 4KiB, 1MiB, at most 16MiB";

/// A published message has a number and the time of publishing, and is at least this long.
pub const SMALLEST_MESSAGE: u32 = 16;

/// The largest payload, with what a protocol adds to it.
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

    /// The number and its unit with a space between: "64 KiB".
    pub fn in_words(self) -> String {
        let text = self.to_string();
        let number = text.trim_end_matches(char::is_alphabetic);
        format!("{number} {}", &text[number.len()..])
    }
}

impl FromStr for Payload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match BYTES.read_whole(text) {
            Ok(bytes) => Ok(Payload::of_bytes(bytes as u32)),
            Err(wrong) => Err(format!("payload {wrong} (accepted: {PAYLOAD_FORMS})")),
        }
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&BYTES.show(self.bytes.into()))
    }
}

/// The accepted forms, for help texts and errors.
pub const CHURN_FORMS: &str =
    "none, or restarts per minute or hour, from 1/h to 60/min: 1/min, 6/h";

const PER_HOUR: Number = Number {
    units: &[("/h", 1.0), ("/min", 60.0)],
    bare: "",
    least: 1.0,
    most: 3600.0,
};

/// The number of peers that are restarted in an hour, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Churn(Option<u32>);

impl Churn {
    /// The time between two restarts. None if there is no restart.
    pub fn period(self) -> Option<Duration> {
        const HOUR: Duration = Duration::from_secs(3600);
        self.0.map(|times| HOUR / times)
    }
}

impl fmt::Display for Churn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("none"),
            Some(times) => f.write_str(&PER_HOUR.show(times.into())),
        }
    }
}

impl FromStr for Churn {
    type Err = String;

    fn from_str(text: &str) -> Result<Churn, String> {
        if text == "none" {
            return Ok(Churn(None));
        }
        match PER_HOUR.read_whole(text) {
            Ok(times) => Ok(Churn(Some(times as u32))),
            Err(wrong) => Err(format!(
                "rate of restarts {wrong} (accepted: {CHURN_FORMS})"
            )),
        }
    }
}

/// The accepted forms, for help texts and errors.
pub const CROWD_FORMS: &str = "TASKSxTIME@SHARE, such as 24x100us@30%: up to 1024 tasks that work for 1us to 10ms at a time, \
     and all together for 1% to 90% of a core";

const WORK: Number = Number {
    least: 1e3,
    most: 10e6,
    ..TIME
};

const SHARE: Number = Number {
    units: &[("%", 1.0)],
    bare: "",
    least: 1.0,
    most: 90.0,
};

/// A number of tasks, how long each works at a time, and the share of a core that they use together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowd {
    pub tasks: u32,
    pub work: Duration,
    pub percent: u64,
}

impl Crowd {
    /// The time between two wake-ups of a task, and how many times it then works. It yields after each time. Timers have a
    /// resolution of a millisecond, so no period is short.
    pub fn period(self) -> (Duration, u32) {
        const SHORTEST: Duration = Duration::from_millis(4);
        let one = self.work * self.tasks * 100 / self.percent as u32;
        let times = SHORTEST.div_duration_f64(one).ceil().max(1.0) as u32;
        (one * times, times)
    }
}

impl fmt::Display for Crowd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = WORK.show(self.work.as_nanos() as f64);
        write!(f, "{}x{work}@{}%", self.tasks, self.percent)
    }
}

impl FromStr for Crowd {
    type Err = String;

    fn from_str(text: &str) -> Result<Crowd, String> {
        let crowd = || {
            let no_crowd = || format!("{text:?} is no crowd");
            let (tasks, rest) = text.split_once('x').ok_or_else(no_crowd)?;
            let (work, share) = rest.split_once('@').ok_or_else(no_crowd)?;
            Ok(Crowd {
                tasks: match tasks.parse() {
                    Ok(tasks @ 1..=1024) => tasks,
                    _ => return Err(format!("{tasks:?} is no number from 1 to 1024")),
                },
                work: Duration::from_nanos(WORK.read_whole(work)?),
                percent: SHARE.read_whole(share)?,
            })
        };
        crowd().map_err(|wrong: String| format!("{wrong} (accepted: {CROWD_FORMS})"))
    }
}

serde_as_text!(Churn, Crowd);

/// The accepted forms, for help texts and errors.
pub const PRECISION_FORMS: &str = "TIME,PERCENT, such as 2ms,5%: the time is per second";

/// A run stops when the intervals of its changes have at most this half width. The time beyond the threshold is judged by the
/// wider of the two limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    pub beyond_ms_per_s: f64,
    /// A percentage of the baseline's value.
    pub percent_of_value: f64,
}

plausible! { Precision;
    beyond_ms_per_s percent_of_value: COUNT;
}

impl Precision {
    pub const DEFAULT: Precision = Precision {
        beyond_ms_per_s: 2.0,
        percent_of_value: 5.0,
    };

    /// This precision is never reached, so a run uses all of its time.
    pub const EXACT: Precision = Precision {
        beyond_ms_per_s: 0.0,
        percent_of_value: 0.0,
    };
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms,{}%", self.beyond_ms_per_s, self.percent_of_value)
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (time, percent) = text.split_once(',').ok_or("it has no comma")?;
            Ok(Precision {
                beyond_ms_per_s: TIME.read(time)? / 1e6,
                percent_of_value: PERCENT.read(percent)?,
            })
        };
        read().map_err(|wrong: String| {
            format!("precision {text:?}: {wrong} (accepted: {PRECISION_FORMS})")
        })
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

    #[test]
    fn rates_are_read_as_they_are_written() {
        for (text, period_s) in [
            ("1/min", 60.0),
            ("60/min", 1.0),
            ("6/h", 600.0),
            ("1/h", 3600.0),
        ] {
            let churn: Churn = text.parse().expect("a rate");
            assert_eq!(churn.to_string(), text);
            let period = churn.period().expect("restarts");
            assert_eq!(period.as_secs_f64(), period_s, "{text}");
        }
        assert_eq!("none".parse::<Churn>().map(Churn::period), Ok(None));
    }

    #[test]
    fn what_is_no_rate_says_what_would_be() {
        for text in ["", "1", "0/min", "61/min", "3601/h", "1/s", "-1/h", "x/min"] {
            let error = text.parse::<Churn>().expect_err(text);
            assert!(error.contains("accepted: none"), "{error}");
        }
    }

    #[test]
    fn a_precision_is_read_as_it_is_written() {
        for text in ["2ms,10%", "0.0001ms,0.0001%", "12.5ms,100%"] {
            let precision: Precision = text.parse().expect("a precision");
            assert_eq!(precision.to_string(), text);
        }
        let in_us: Precision = "500 us, 5%".parse().expect("a precision");
        assert_eq!(in_us.beyond_ms_per_s, 0.5);
    }

    #[test]
    fn what_is_no_precision_says_what_would_be() {
        for (text, problem) in [
            ("2ms", "no comma"),
            ("1pp,5%", "unknown unit \"pp\""),
            ("2,5%", "no unit"),
            ("2ms,5", "no unit"),
            ("0ms,5%", "is zero"),
            ("-2ms,5%", "is negative"),
            ("2ms,0%", "is zero"),
        ] {
            let error = text.parse::<Precision>().expect_err(text);
            assert!(
                error.contains(problem) && error.contains("accepted: TIME,PERCENT"),
                "{error}"
            );
            assert_eq!(error.lines().count(), 1);
        }
    }

    #[test]
    fn a_crowd_is_read_as_it_is_written_and_takes_its_share() {
        for text in ["24x100us@30%", "1x10us@1%", "1024x10ms@90%", "8x1ms@50%"] {
            let crowd: Crowd = text.parse().expect("a crowd");
            assert_eq!(crowd.to_string(), text);
            let (period, times) = crowd.period();
            assert!(period >= Duration::from_millis(4), "{text}: {period:?}");
            let busy = crowd.work * times * crowd.tasks;
            let percent = 100.0 * busy.div_duration_f64(period);
            assert!((percent - crowd.percent as f64).abs() < 0.01, "{text}");
        }
    }

    #[test]
    fn what_is_no_crowd_says_what_would_be() {
        for text in [
            "",
            "24",
            "24x100us",
            "0x100us@30%",
            "2000x100us@30%",
            "24x100@30%",
            "24x20ms@30%",
            "24x100us@30",
            "24x100us@95%",
            "24x100us@0.5%",
        ] {
            let error = text.parse::<Crowd>().expect_err(text);
            assert!(error.contains("accepted: TASKSxTIME@SHARE"), "{error}");
        }
    }
}
