//! The text form of budgets.

use std::{fmt, num::NonZeroU32, str::FromStr, time::Duration};

use crate::{Budget, Budgets, Limit, Site, Wake};

/// The accepted forms, for help texts and errors.
pub const BUDGET_FORMS: &str = "none, or SITE=LIMIT[/WAKE] joined by commas; SITE: connection, muxer, task, \
     quic-connection (only a count), quic-endpoint (no coop); LIMIT: a count (8), a time (50us; units ns, us, ms, s), \
     coop; WAKE: immediate, deferred";

fn refusal(part: &str, problem: impl fmt::Display) -> String {
    format!("budget {part:?}: {problem} (accepted: {BUDGET_FORMS})")
}

impl FromStr for Budgets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.is_empty() {
            return Err(refusal(text, "the text is empty"));
        }
        if text == "none" {
            return Ok(Budgets::NONE);
        }
        let mut budgets = Budgets::NONE;
        for part in text.split(',') {
            let part = part.trim();
            let (site, budget) = parse_part(part)?;
            let wrong = |problem: &str| refusal(part, format!("site {site} is {problem}"));
            if !Site::BUDGETED.contains(&site) {
                return Err(wrong("recorded but takes no budget"));
            }
            if budgets.at(site).is_some() {
                return Err(wrong("named twice"));
            }
            budgets = budgets.with(site, budget);
        }
        Ok(budgets)
    }
}

fn parse_part(part: &str) -> Result<(Site, Budget), String> {
    let problem = |problem: String| refusal(part, problem);
    if part == "none" {
        return Err(problem("`none` stands alone".into()));
    }
    let (site, bound) = part
        .split_once('=')
        .ok_or_else(|| problem("there is no `=` between a site and a limit".into()))?;
    let site = site.trim();
    let site: Site = (site.parse()).map_err(|_| problem(format!("unknown site {site:?}")))?;
    let (limit, wake) = match bound.split_once('/') {
        Some((limit, wake)) => (limit.trim(), Some(wake.trim())),
        None => (bound.trim(), None),
    };
    let limit = parse_limit(limit).map_err(&problem)?;
    let is_bounded = match limit {
        Limit::Count(_) => true,
        Limit::Time(_) => site != Site::QuicConnection,
        Limit::Coop => !site.is_of_quic(),
    };
    if !is_bounded {
        return Err(problem(format!("site {site} has no bound of this kind")));
    }
    let wake = match (wake, limit) {
        (None, Limit::Coop) | (Some("deferred"), _) => Wake::Deferred,
        (Some("immediate"), Limit::Coop) => {
            return Err(problem(
                "the wake of coop is tokio's own, which is deferred".into(),
            ));
        }
        (None | Some("immediate"), _) => Wake::Immediate,
        (Some(other), _) => return Err(problem(format!("unknown wake {other:?}"))),
    };
    Ok((site, Budget { limit, wake }))
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

impl fmt::Display for Budgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for site in Site::BUDGETED {
            if let Some(budget) = self.at(site) {
                write!(f, "{separator}{site}={budget}")?;
                separator = ",";
            }
        }
        if separator.is_empty() {
            f.write_str("none")?;
        }
        Ok(())
    }
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

/// For types with a text form.
#[cfg(feature = "serde")]
#[doc(hidden)]
#[macro_export]
macro_rules! serde_as_text {
    ($($type:ty),+) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

#[cfg(feature = "serde")]
serde_as_text!(Site, Budgets);
