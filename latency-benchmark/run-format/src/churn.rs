//! How often a peer is restarted, as it is typed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use poll_probe::number::Number;

use crate::serde_as_text;

/// The accepted forms, for help texts and errors.
pub const CHURN_FORMS: &str =
    "none, or restarts per minute or hour, from 1/h to 60/min: 1/min, 6/h";

const PER_HOUR: Number = Number {
    units: &[("/h", 1.0), ("/min", 60.0)],
    bare: "",
    least: 1.0,
    most: 3600.0,
};

/// So many restarts in an hour, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Churn(Option<u32>);

impl Churn {
    /// The time for each restart; none where there are none.
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
        let times = PER_HOUR.read_whole(text);
        times
            .map(|times| Churn(Some(times as u32)))
            .map_err(|wrong| format!("rate of restarts {wrong} (accepted: {CHURN_FORMS})"))
    }
}

serde_as_text!(Churn);

#[cfg(test)]
mod tests {
    use super::*;

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
}
