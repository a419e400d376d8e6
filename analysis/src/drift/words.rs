//! The sentences about drift.

use super::{Drift, Drifts};
use crate::{
    stats::Trend,
    text::{change, count, lasting, number, signed},
};

impl Drifts {
    pub(crate) fn sentences(&self) -> Vec<String> {
        if self.all.iter().all(|drift| drift.trend.is_none()) {
            let rows = count(self.judged_rows, "row");
            return vec![format!(
                "The soak is too short: {rows} after the warm-up are too few to judge whether anything drifts."
            )];
        }
        let mut sentences: Vec<String> = self.drifting().map(Drift::sentence).collect();
        if sentences.is_empty() {
            sentences.push(format!(
                "Nothing drifts beyond noise: within {}, the slope of none of {} series differs from zero.",
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
    /// "Drift of tasks alive: +60.0 per hour [+59.1, +60.8], median 40.0, +180 % …."
    fn sentence(&self) -> String {
        // Percent of a percentage would be taken for points.
        let trend = self.trend.filter(|_| !self.series.unit.starts_with('%'));
        let growth = trend.and_then(|trend| trend.growth());
        let growth = growth.map_or_else(String::new, |growth| {
            let percent = signed(100.0 * growth);
            format!(", {percent} % from the start to the end of the trend")
        });
        let settled = if self.has_settled() {
            " The second half alone has no trend beyond noise."
        } else {
            ""
        };
        format!(
            "**Drift of {}**: {}, median {}{growth}.{settled}",
            self.series.words,
            self.slope().unwrap_or_default(),
            self.median(),
        )
    }

    /// "+60.0 per hour [+59.1, +60.8]".
    pub(crate) fn slope(&self) -> Option<String> {
        self.per_hour(self.trend)
    }

    pub(crate) fn late_slope(&self) -> Option<String> {
        self.per_hour(self.late_trend)
    }

    fn per_hour(&self, trend: Option<Trend>) -> Option<String> {
        Some(change(trend?.slope, &self.unit(), trend?.interval))
    }

    /// "MiB per hour". A change of a percentage is in percentage points.
    fn unit(&self) -> String {
        let unit = self.series.unit.replacen('%', "pp", 1);
        format!("{unit} per hour").trim_start().to_owned()
    }

    /// The median value with its unit. Where most values are zero, also the mean, which is not.
    pub(crate) fn median(&self) -> String {
        let values: Vec<f64> = self.judged().into_iter().map(|(_, value)| value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let mean = match self.median {
            0.0 if mean > 0.0 => format!("(mean {}) ", number(mean)),
            _ => String::new(),
        };
        let text = format!("{} {mean}{}", number(self.median), self.series.unit);
        text.trim_end().to_owned()
    }

    /// The smallest slope that a soak like this detects, with its unit.
    pub(crate) fn detectable_slope(&self) -> Option<String> {
        Some(format!("{} {}", number(self.detectable()?), self.unit()))
    }
}
