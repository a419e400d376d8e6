//! What drifts, in words.

use super::{Drift, Drifts};
use crate::text::{change, count, number, signed};

/// A slope of this long is one of hours that were measured, and of shorter soaks extrapolated.
const HOUR_S: f64 = 3600.0;

impl Drifts {
    /// The verdict.
    pub(crate) fn sentences(&self) -> Vec<String> {
        if self.all.iter().all(|drift| drift.trend.is_none()) {
            return vec![format!(
                "Too short to tell: {} after the warm-up are no series.",
                count(self.tested_rows, "row")
            )];
        }
        let mut sentences: Vec<String> = self.drifting().map(Drift::sentence).collect();
        if sentences.is_empty() {
            sentences.push(format!(
                "Nothing drifts: none of {} series goes up or down in {} by more than chance would have it.",
                self.all.len(),
                lasting(self.last_s)
            ));
        } else if let quiet @ 1.. = self.all.len() - sentences.len() {
            sentences.push(format!("Of the other {quiet} series none drifts."));
        }
        sentences
    }
}

impl Drift {
    /// "Drift of tasks alive: +60.0 per hour [+59.1, +60.8] around 40.0, +180 % …, p < 0.001."
    fn sentence(&self) -> String {
        let settled = if self.has_settled() {
            "; not in the second half any more, as far as that can be told"
        } else {
            ""
        };
        format!(
            "**Drift of {}**: {} around {}{}{}{settled}.",
            self.series.words,
            self.slope().unwrap_or_default(),
            self.level().unwrap_or_default(),
            self.growth().unwrap_or_default(),
            self.adjusted_p_value
                .map_or_else(String::new, |p| format!(", {}", p_text(p)))
        )
    }

    /// ", +35 % from the beginning to the end"
    fn growth(&self) -> Option<String> {
        const PERCENT: f64 = 100.0;
        let growth = self.trend.as_ref()?.growth()?;
        let percent = signed(PERCENT * growth);
        Some(format!(
            ", {percent} % from the trend's beginning to its end"
        ))
    }

    /// "+60.0 per hour [+59.1, +60.8]"; none where it is not known.
    pub(crate) fn slope(&self) -> Option<String> {
        let trend = self.trend.as_ref()?;
        let unit = self.per_hour();
        Some(change(
            trend.slope,
            &unit,
            (trend.interval.low, trend.interval.high),
        ))
    }

    /// "MiB per hour"
    pub(crate) fn per_hour(&self) -> String {
        format!("{} per hour", self.series.unit)
            .trim_start()
            .to_owned()
    }

    /// The value that it has in the middle, with its unit.
    pub(crate) fn level(&self) -> Option<String> {
        let text = format!("{} {}", number(self.median?), self.series.unit);
        Some(text.trim_end().to_owned())
    }

    /// How small a slope can be and still be found, with its unit.
    pub(crate) fn least(&self) -> Option<String> {
        Some(format!("{} {}", number(self.detectable?), self.per_hour()))
    }
}

/// "p = 0.012": no more digits than mean something.
pub(crate) fn p_text(p_value: f64) -> String {
    const LEAST: f64 = 0.001;
    if p_value < LEAST {
        format!("p < {LEAST}")
    } else {
        format!("p = {p_value:.3}")
    }
}

/// "8.0 hours", "36 s"
pub(crate) fn lasting(seconds: f64) -> String {
    const MINUTE_S: f64 = 60.0;
    if seconds >= 2.0 * HOUR_S {
        format!("{:.1} hours", seconds / HOUR_S)
    } else if seconds >= 2.0 * MINUTE_S {
        format!("{:.0} minutes", seconds / MINUTE_S)
    } else {
        format!("{seconds:.0} s")
    }
}
