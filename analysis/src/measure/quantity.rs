//! The quantities that decide about a candidate, and the margins below which a change does not matter.

use std::fmt;
use std::str::FromStr;

use program::number::{PERCENT, POINTS};
use run_format::serde_as_text;

use super::metric::{Better, Metric};
use crate::text::joined;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantity {
    pub(crate) metric: Metric,
    name: &'static str,
    pub(crate) words: &'static str,
    pub(crate) is_benefit: bool,
    /// The least change that matters, in the unit of averages over cells.
    pub(crate) margin: f64,
}

impl Quantity {
    /// All quantities with their default margins.
    pub(crate) fn all() -> Vec<Quantity> {
        let quantity = |&metric: &Metric| {
            let info = metric.info().verdict.as_ref()?;
            Some(Quantity {
                metric,
                name: info.option,
                words: info.words,
                is_benefit: info.is_benefit,
                margin: info.margin,
            })
        };
        Metric::ALL.iter().filter_map(quantity).collect()
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

    pub(crate) fn by_metric(metric: Metric) -> Option<Quantity> {
        Quantity::all()
            .into_iter()
            .find(|quantity| quantity.metric == metric)
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
        unit(self.metric)
    }

    /// Returns the words for a text about one threshold, such as "time beyond 50 µs".
    pub(crate) fn words_beyond(self, threshold: &str) -> String {
        self.words.replace("the threshold", threshold)
    }

    /// Returns the margin with its unit, such as "0.5 pp".
    pub(crate) fn margin_with_unit(self) -> String {
        format!("{} {}", self.margin, self.unit())
    }
}

pub(crate) fn unit(metric: Metric) -> &'static str {
    let is_share = metric.info().is_share;
    if is_share { "pp" } else { "%" }
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
        write!(f, "{}={}{unit}", self.quantity.name, self.value)
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
            .find(|quantity| quantity.name == name)
            .ok_or_else(|| {
                let names = joined(all().map(|quantity| quantity.name), ", ");
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
