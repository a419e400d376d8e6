//! The quantities that decide about a candidate, and the margins below which a change does not matter.

use std::fmt;
use std::str::FromStr;

use program::number::{PERCENT, POINTS};
use run_format::serde_as_text;

use super::metric::{Better, Metric, VerdictInfo};
use crate::text::joined;

/// A metric on which verdicts depend, with its margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantity {
    pub(crate) metric: Metric,
    /// The least change that matters, in the unit of averages over cells.
    pub(crate) margin: f64,
}

impl Quantity {
    /// All quantities with their default margins.
    pub(crate) fn all() -> Vec<Quantity> {
        let metrics = Metric::ALL.iter().copied();
        metrics.filter_map(Quantity::by_metric).collect()
    }

    /// The quantity with its default margin. None if no verdict depends on the metric.
    pub(crate) fn by_metric(metric: Metric) -> Option<Quantity> {
        let verdict = metric.info().verdict.as_ref()?;
        Some(Quantity {
            metric,
            margin: verdict.margin,
        })
    }

    /// All quantities. If a margin was given several times, the last one counts.
    pub(crate) fn with_margins(given: &[Margin]) -> Vec<Quantity> {
        let mut all = Quantity::all();
        for margin in given {
            for quantity in &mut all {
                if quantity.metric == margin.quantity.metric {
                    quantity.margin = margin.value;
                }
            }
        }
        all
    }

    fn verdict_info(self) -> &'static VerdictInfo {
        let verdict = self.metric.info().verdict.as_ref();
        verdict.expect("a verdict depends on the metric of a quantity")
    }

    /// The name in `--margin`.
    fn option(self) -> &'static str {
        self.verdict_info().option
    }

    pub(crate) fn words(self) -> &'static str {
        self.metric.info().words
    }

    pub(crate) fn is_benefit(self) -> bool {
        self.verdict_info().is_benefit
    }

    pub(crate) fn is_lower_better(self) -> bool {
        self.metric.info().better == Better::Lower
    }

    /// Turns a change so that positive is worse.
    pub(crate) fn loss(self, change: f64) -> f64 {
        match self.is_lower_better() {
            true => change,
            false => -change,
        }
    }

    pub(crate) fn unit(self) -> &'static str {
        self.metric.unit_of_mean_change()
    }

    /// Returns the words for a text about one threshold, such as "time beyond 50 µs".
    pub(crate) fn words_beyond(self, threshold: &str) -> String {
        self.words().replace("the threshold", threshold)
    }

    /// Returns the margin with its unit, such as "0.5 pp".
    pub(crate) fn margin_with_unit(self) -> String {
        format!("{} {}", self.margin, self.unit())
    }
}

/// A margin that an option sets: `throughput=1%`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Margin {
    quantity: Quantity,
    value: f64,
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let unit = self.quantity.unit();
        write!(f, "{}={}{unit}", self.quantity.option(), self.value)
    }
}

impl FromStr for Margin {
    type Err = String;

    fn from_str(text: &str) -> Result<Margin, String> {
        let all = || Quantity::all().into_iter();
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| format!("{text:?} is not QUANTITY=VALUE, such as throughput=1%"))?;
        let quantity = all()
            .find(|quantity| quantity.option() == name)
            .ok_or_else(|| {
                let names = joined(all().map(|quantity| quantity.option()), ", ");
                format!("unknown quantity {name:?} (accepted: {names})")
            })?;
        let number = match quantity.metric.info().is_share {
            true => POINTS,
            false => PERCENT,
        };
        let value = number.read(value).map_err(|wrong| {
            let (margin, unit) = (quantity.margin, quantity.unit());
            format!(
                "margin of {name} {wrong} (accepted: a number above zero with its unit, such as {margin}{unit})"
            )
        })?;
        Ok(Margin { quantity, value })
    }
}

serde_as_text!(Margin);
