//! `summary.csv` of a soak: one row for each series.

use anyhow::Result;
use polars_core::prelude::*;

use super::{Drift, Drifts};
use crate::summary::table::{numbers, texts};

/// Slopes are per hour.
pub(crate) fn table(drifts: &Drifts) -> Result<DataFrame> {
    let all = || drifts.all.iter();
    let number = |name: &str, of: fn(&Drift) -> Option<f64>| numbers(name, all().map(of));
    Ok(DataFrame::new_infer_height(vec![
        texts("series", all().map(|drift| Some(drift.series.name))),
        number("median", |it| it.median),
        number("slope", |it| Some(it.trend.as_ref()?.slope)),
        number("low", |it| Some(it.trend.as_ref()?.interval.low)),
        number("high", |it| Some(it.trend.as_ref()?.interval.high)),
        number("p", |it| Some(it.trend.as_ref()?.p_value)),
        number("adjusted_p", |it| it.adjusted_p_value),
        number("second_half_slope", |it| {
            Some(it.late_trend.as_ref()?.slope)
        }),
        number("second_half_p", |it| Some(it.late_trend.as_ref()?.p_value)),
        number("detectable", |it| it.detectable),
        texts("drifts", all().map(verdict)),
    ])?)
}

/// Absent if too few rows were tested.
fn verdict(drift: &Drift) -> Option<&'static str> {
    drift.adjusted_p_value?;
    Some(match (drift.is_drifting(), drift.has_settled()) {
        (false, _) => "no",
        (true, false) => "yes",
        (true, true) => "settled",
    })
}
