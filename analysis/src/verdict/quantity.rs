//! The quantities that decide about a candidate, and the margins below which a change does not matter.

use std::{fmt, str::FromStr};

use poll_probe::serde_as_text;

use crate::measure::metric::{Better, Metric};

/// A quantity that decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantity {
    pub(crate) metric: Metric,
    /// Its name in options.
    name: &'static str,
    /// Its name in sentences.
    pub(crate) words: &'static str,
    /// Whether budgets are meant to improve it. Otherwise it is a cost.
    pub(crate) is_benefit: bool,
    /// Unless an option says otherwise.
    pub(crate) margin: f64,
}

const fn quantity(
    metric: Metric,
    name: &'static str,
    words: &'static str,
    is_benefit: bool,
    margin: f64,
) -> Quantity {
    Quantity {
        metric,
        name,
        words,
        is_benefit,
        margin,
    }
}

/// With the default margins, in percentage points for shares and in percent for the others.
#[rustfmt::skip]
pub(crate) const DECIDING: [Quantity; 7] = [
    quantity(Metric::SlowPercent, "slow", "slow polls", true, 0.5),
    // A share can be lower only because there are more polls.
    quantity(Metric::SlowPerRequest, "slow-per-request", "slow polls per request", true, 10.0),
    quantity(Metric::CotenantLatePercent, "late", "late wake-ups of the co-tenant", true, 0.5),
    quantity(Metric::CotenantP90Us, "wake-up", "wake-up latency of the co-tenant (p90)", true, 10.0),
    quantity(Metric::RequestsPerS, "throughput", "throughput", false, 2.0),
    quantity(Metric::CpuUsPerRequest, "cpu", "CPU time per request", false, 3.0),
    quantity(Metric::LatencyP99Ms, "latency", "request latency (p99)", false, 10.0),
];

/// Quantities that are shown and decide nothing.
pub(crate) fn is_detail(metric: &Metric) -> bool {
    const DETAILS: [Metric; 3] = [
        Metric::CotenantP99Us,
        Metric::LatencyP50Ms,
        Metric::PollsPerRequest,
    ];
    DETAILS.contains(metric) || metric.is_of_quic()
}

impl Quantity {
    /// "fewer slow polls"
    pub(crate) fn improved(self) -> String {
        format!("{} {}", self.direction(true), self.words)
    }

    pub(crate) fn worsened(self) -> String {
        format!("{} {}", self.direction(false), self.words)
    }

    fn direction(self, is_good: bool) -> &'static str {
        let is_counted = matches!(
            self.metric,
            Metric::SlowPercent | Metric::SlowPerRequest | Metric::CotenantLatePercent
        );
        match (is_good == self.is_lower_better(), is_counted) {
            (true, true) => "fewer",
            (false, true) => "more",
            (true, false) => "lower",
            (false, false) => "higher",
        }
    }

    pub(crate) fn is_lower_better(self) -> bool {
        self.metric.better == Better::Lower
    }

    pub(crate) fn unit(self) -> &'static str {
        unit(self.metric)
    }
}

/// Of a change over cells.
pub(crate) fn unit(metric: Metric) -> &'static str {
    if is_share(metric) { "pp" } else { "%" }
}

/// Shares are averaged over cells. Other metrics and their errors differ between cells by orders of magnitude, so
/// their relative changes are used instead.
pub(crate) fn is_share(metric: Metric) -> bool {
    matches!(metric, Metric::SlowPercent | Metric::CotenantLatePercent)
}

/// A margin that is not the default: `throughput=1%`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Margin {
    quantity: Quantity,
    value: f64,
}

impl Margin {
    /// The margin of a quantity: the last that was given, or the default.
    pub(crate) fn of(quantity: Quantity, given: &[Margin]) -> f64 {
        let mut given = given.iter().rev();
        let of_quantity = given.find(|it| it.quantity.metric == quantity.metric);
        of_quantity.map_or(quantity.margin, |it| it.value)
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
        let names = || DECIDING.map(|it| it.name).join(", ");
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| format!("{text:?} is not QUANTITY=VALUE, such as throughput=1%"))?;
        let mut all = DECIDING.into_iter();
        let quantity = all
            .find(|it| it.name == name)
            .ok_or_else(|| format!("unknown quantity {name:?} (accepted: {})", names()))?;
        let unit = quantity.unit();
        let number = value
            .strip_suffix(unit)
            .and_then(|it| it.trim().parse().ok());
        let value = number.filter(|it: &f64| *it > 0.0 && it.is_finite());
        let value = value.ok_or_else(|| {
            format!(
                "{value:?} is no margin of {name} (accepted: a number above zero with its unit, such as {}{unit})",
                quantity.margin
            )
        })?;
        Ok(Margin { quantity, value })
    }
}

serde_as_text!(Margin);
