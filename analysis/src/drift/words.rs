//! The sentences about drift.

use super::{Drift, Drifts};
use crate::text::{change, count, lasting, number, signed};

impl Drifts {
    /// The verdict.
    pub(crate) fn sentences(&self) -> Vec<String> {
        if self.all.iter().all(|drift| drift.trend.is_none()) {
            let rows = count(self.tested_rows, "row");
            return vec![format!(
                "The soak is too short: {rows} after the warm-up are too few to test for drift."
            )];
        }
        let mut sentences: Vec<String> = self.drifting().map(Drift::sentence).collect();
        if sentences.is_empty() {
            sentences.push(format!(
                "No drift is resolved: within {}, none of {} series has a trend that differs from noise.",
                lasting(self.last_s),
                self.all.len()
            ));
        } else if let quiet @ 1.. = self.all.len() - sentences.len() {
            sentences.push(format!("None of the other {quiet} series drifts."));
        }
        sentences
    }
}

impl Drift {
    /// "Drift of tasks alive: +60.0 per hour [+59.1, +60.8], median 40.0, +180 % …, p < 0.001."
    fn sentence(&self) -> String {
        let growth = |growth: f64| {
            format!(
                "{} % from the start to the end of the trend",
                signed(100.0 * growth)
            )
        };
        let facts = [
            self.slope(),
            self.median().map(|median| format!("median {median}")),
            // Percent of a percentage would be taken for points.
            self.trend
                .as_ref()
                .filter(|_| !self.series.unit.starts_with('%'))
                .and_then(|it| it.growth())
                .map(growth),
            self.adjusted_p_value.map(p_text),
        ];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        let settled = if self.has_settled() {
            " The second half has no resolved trend."
        } else {
            ""
        };
        format!(
            "**Drift of {}**: {}.{settled}",
            self.series.words,
            facts.join(", ")
        )
    }

    /// "+60.0 per hour [+59.1, +60.8]".
    pub(crate) fn slope(&self) -> Option<String> {
        let trend = self.trend.as_ref()?;
        Some(change(trend.slope, &self.per_hour(), trend.interval))
    }

    /// "MiB per hour". A change of a percentage is in percentage points.
    pub(crate) fn per_hour(&self) -> String {
        let unit = self.series.unit.replacen('%', "pp", 1);
        format!("{unit} per hour").trim_start().to_owned()
    }

    /// The median value with its unit. Where most values are zero, also the mean, which is not.
    pub(crate) fn median(&self) -> Option<String> {
        let values: Vec<f64> = self.tested().into_iter().map(|(_, value)| value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let mean = match self.median? {
            0.0 if mean > 0.0 => format!("(mean {}) ", number(mean)),
            _ => String::new(),
        };
        let text = format!("{} {mean}{}", number(self.median?), self.series.unit);
        Some(text.trim_end().to_owned())
    }

    /// The smallest slope that a soak like this detects, with its unit.
    pub(crate) fn detectable_slope(&self) -> Option<String> {
        Some(format!("{} {}", number(self.detectable?), self.per_hour()))
    }
}

/// "p = 0.012"; more digits would mean nothing.
pub(crate) fn p_text(p_value: f64) -> String {
    const LEAST: f64 = 0.001;
    if p_value < LEAST {
        format!("p < {LEAST}")
    } else {
        format!("p = {p_value:.3}")
    }
}
