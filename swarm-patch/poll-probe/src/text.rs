//! The text form of a budget.

use std::{fmt, num::NonZeroU32, str::FromStr, time::Duration};

use crate::{Budget, Limit, Wake};

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

fn parse_limit(text: &str) -> Result<Limit, String> {
    if text == "coop" {
        return Ok(Limit::Coop);
    }
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(match text.strip_prefix('-') {
            Some(_) => format!("limit {text:?} is negative"),
            None => format!("limit {text:?} is not a number"),
        });
    }
    if number.bytes().all(|digit| digit == b'0') {
        return Err(format!(
            "limit {text:?} is zero, and a site needs one iteration to make progress"
        ));
    }
    let unit_ns = match unit.trim_start() {
        "" => {
            let count = number.parse::<NonZeroU32>().map_err(|_| {
                format!(
                    "limit {text:?} is too large, the largest count is {}",
                    u32::MAX
                )
            })?;
            return Ok(Limit::Count(count));
        }
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        other => return Err(format!("unknown unit {other:?}")),
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit_ns))
        .map(|ns| Limit::Time(Duration::from_nanos(ns)))
        .ok_or_else(|| {
            format!(
                "limit {text:?} is too large, the longest time is {}ns",
                u64::MAX
            )
        })
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
            Limit::Time(time) => {
                let ns = time.as_nanos();
                let (unit_ns, unit) = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")]
                    .into_iter()
                    .find(|(unit_ns, _)| ns % unit_ns == 0)
                    .unwrap_or((1, "ns"));
                write!(f, "{}{unit}", ns / unit_ns)
            }
        }
    }
}
