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
        number("median", |drift| Some(drift.median)),
        number("slope", |drift| Some(drift.trend?.slope)),
        number("low", |drift| Some(drift.trend?.interval.low)),
        number("high", |drift| Some(drift.trend?.interval.high)),
        number("second_half_slope", |drift| Some(drift.late_trend?.slope)),
        number("detectable", Drift::detectable),
        texts("drifts", all().map(verdict)),
    ])?)
}

/// Absent if there are too few rows.
fn verdict(drift: &Drift) -> Option<&'static str> {
    drift.trend?;
    Some(match (drift.is_drifting(), drift.has_settled()) {
        (false, _) => "no",
        (true, false) => "yes",
        (true, true) => "settled",
    })
}
