//! How often a peer is restarted, as it is typed.

use std::{fmt, str::FromStr, time::Duration};

use crate::serde_as_text;

/// The accepted forms, for help texts and errors.
pub const CHURN_FORMS: &str =
    "none, or restarts per minute or hour, from 1/h to 60/min: 1/min, 6/h";

/// So many restarts in a minute or an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Churn {
    None,
    PerMinute(u32),
    PerHour(u32),
}

impl Churn {
    /// The time for each restart; none where there are none.
    pub fn period(self) -> Option<Duration> {
        const MINUTE: Duration = Duration::from_secs(60);
        match self {
            Churn::None => None,
            Churn::PerMinute(times) => Some(MINUTE / times),
            Churn::PerHour(times) => Some(60 * MINUTE / times),
        }
    }
}

impl fmt::Display for Churn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Churn::None => f.write_str("none"),
            Churn::PerMinute(times) => write!(f, "{times}/min"),
            Churn::PerHour(times) => write!(f, "{times}/h"),
        }
    }
}

impl FromStr for Churn {
    type Err = String;

    fn from_str(text: &str) -> Result<Churn, String> {
        const MOST_PER_MINUTE: u32 = 60;
        let wrong = || format!("{text:?} is no rate of restarts (accepted: {CHURN_FORMS})");
        if text == "none" {
            return Ok(Churn::None);
        }
        let (times, unit) = text.split_once('/').ok_or_else(wrong)?;
        let times: u32 = times.parse().map_err(|_| wrong())?;
        let churn = match unit {
            "min" if (1..=MOST_PER_MINUTE).contains(&times) => Churn::PerMinute(times),
            "h" if (1..=60 * MOST_PER_MINUTE).contains(&times) => Churn::PerHour(times),
            _ => return Err(wrong()),
        };
        Ok(churn)
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
