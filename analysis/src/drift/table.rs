//! `summary.csv` of a soak: every series in a row.

use anyhow::Result;
use polars::prelude::*;

use super::{Drift, Drifts};
use crate::{stats::Interval, text::rounded};

/// Slopes are per hour; numbers have four significant digits, and an end that the data did not set is
/// absent.
pub(crate) fn table(drifts: &Drifts) -> Result<DataFrame> {
    let all = || drifts.all.iter();
    let number = |of: &dyn Fn(&Drift) -> Option<f64>| -> Vec<Option<f64>> {
        let finite = |value: Option<f64>| value.filter(|it| it.is_finite()).map(rounded);
        all().map(|drift| finite(of(drift))).collect()
    };
    let interval = |drift: &Drift| -> Option<Interval> { Some(drift.trend.as_ref()?.interval) };
    let names: Vec<&str> = all().map(|drift| drift.series.name).collect();
    let verdicts: Vec<Option<&str>> = all().map(verdict).collect();
    let columns = vec![
        Column::new("series".into(), names),
        Column::new("median".into(), number(&|it| it.median)),
        Column::new("slope".into(), number(&|it| Some(it.trend.as_ref()?.slope))),
        Column::new("low".into(), number(&|it| Some(interval(it)?.low))),
        Column::new("high".into(), number(&|it| Some(interval(it)?.high))),
        Column::new("p".into(), number(&|it| Some(it.trend.as_ref()?.p_value))),
        Column::new("adjusted_p".into(), number(&|it| it.adjusted_p_value)),
        Column::new(
            "second_half_slope".into(),
            number(&|it| Some(it.late_trend.as_ref()?.slope)),
        ),
        Column::new(
            "second_half_p".into(),
            number(&|it| Some(it.late_trend.as_ref()?.p_value)),
        ),
        Column::new("detectable".into(), number(&|it| it.detectable)),
        Column::new("drifts".into(), verdicts),
    ];
    Ok(DataFrame::new_infer_height(columns)?)
}

/// Absent where too few rows were tested to tell.
fn verdict(drift: &Drift) -> Option<&'static str> {
    drift.adjusted_p_value?;
    Some(match (drift.is_drifting(), drift.has_settled()) {
        (false, _) => "no",
        (true, false) => "yes",
        (true, true) => "settled",
    })
}
