//! The text form of budgets.

use std::{fmt, num::NonZeroU32, str::FromStr, time::Duration};

use crate::{
    Budget, Budgets, Limit, Site, Wake,
    number::{Number, TIME},
};

/// The accepted forms, for help texts and errors.
pub const BUDGET_FORMS: &str = "none, or SITE=LIMIT[/WAKE] joined by commas; SITE: connection, muxer, task, \
     quic-connection (only a count), quic-endpoint (no coop); LIMIT: a count (8), a time (50us; units ns, us, ms, s, \
     min, h), coop; WAKE: immediate, deferred";

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
            Limit::Time(time) => f.write_str(&TIME.show(time.as_nanos() as f64)),
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
