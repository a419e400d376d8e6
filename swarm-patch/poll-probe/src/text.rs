//! The text form of a budget.

use std::{fmt, num::NonZeroU32, str::FromStr, time::Duration};

use crate::{
    Budget, Limit, Wake,
    number::{Number, TIME},
};

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (limit, wake) = match text.split_once('/') {
            Some((limit, wake)) => (limit, Some(wake.trim())),
            None => (text, None),
        };
        let limit = parse_limit(limit.trim())?;
        let wake = match (wake, limit) {
            (None, Limit::Coop) | (Some("deferred"), _) => Wake::Deferred,
            (Some("immediate"), Limit::Coop) => {
                return Err("the wake of coop is tokio's own, which is deferred".into());
            }
            (None | Some("immediate"), _) => Wake::Immediate,
            (Some(other), _) => return Err(format!("unknown wake {other:?}")),
        };
        Ok(Budget { limit, wake })
    }
}

/// A site needs one iteration to make progress.
const COUNT: Number = Number {
    units: &[("", 1.0)],
    bare: "",
    least: 1.0,
    most: u32::MAX as f64,
};

fn parse_limit(text: &str) -> Result<Limit, String> {
    if text == "coop" {
        return Ok(Limit::Coop);
    }
    let limit = if text.ends_with(|last: char| last.is_ascii_digit()) {
        COUNT.read_whole(text).map(|count| {
            let count = NonZeroU32::new(count as u32);
            Limit::Count(count.expect("it is from 1 to the largest"))
        })
    } else {
        TIME.read_whole(text)
            .map(|ns| Limit::Time(Duration::from_nanos(ns)))
    };
    limit.map_err(|wrong| format!("limit {wrong}"))
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.limit, self.wake) {
            (Limit::Coop, _) | (_, Wake::Immediate) => write!(f, "{}", self.limit),
            (_, Wake::Deferred) => write!(f, "{}/deferred", self.limit),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Count(count) => write!(f, "{count}"),
            Limit::Coop => f.write_str("coop"),
            Limit::Time(time) => f.write_str(&TIME.show(time.as_nanos() as f64)),
        }
    }
}
