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
    pub(crate) margin: f64,
}

impl Quantity {
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

    pub(crate) fn of_metric(metric: Metric) -> Option<Quantity> {
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

    /// "time beyond 50 µs", where a text is about one threshold.
    pub(crate) fn words_beyond(self, threshold: &str) -> String {
        self.words.replace("the threshold", threshold)
    }

    /// "0.5 pp"
    pub(crate) fn with_unit(self, change: f64) -> String {
        format!("{change} {}", self.unit())
    }
}

pub(crate) fn unit(metric: Metric) -> &'static str {
    let is_share = metric.info().is_share;
    if is_share { "pp" } else { "%" }
}

/// A margin that is not the default: `throughput=1%`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Margin {
    quantity: Quantity,
    value: f64,
}

impl Margin {
    /// The margin of a quantity: the last that was given, or the default.
    pub(crate) fn in_force(quantity: Quantity, given: &[Margin]) -> f64 {
        let mut latest_first = given.iter().rev();
        let of_quantity = latest_first.find(|margin| margin.quantity.metric == quantity.metric);
        of_quantity.map_or(quantity.margin, |margin| margin.value)
    }
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
