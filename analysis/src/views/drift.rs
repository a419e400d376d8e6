//! Pictures of a soak: one for each series.

use super::scene::{Entry, formats, stem};
use crate::{
    charts::{Caption, Picture, TimeSeries, TrendLine, ValueAxis},
    drift::{
        Drift, Drifts,
        words::{lasting, p_text},
    },
    options::Options,
    text::capitalised,
};

/// The series that drift come first. The report opens with the first picture.
pub(crate) fn entries(drifts: &Drifts, small_print: &str, options: &Options) -> Vec<Entry> {
    let quiet = drifts.all.iter().filter(|drift| !drift.is_drifting());
    let all = drifts.drifting().chain(quiet).enumerate();
    all.map(|(at, drift)| {
        let picture = picture(drift, drifts, small_print);
        Entry {
            stem: stem(&["series", drift.series.name]),
            group: if drift.is_drifting() {
                "With a drift"
            } else {
                "Without a drift"
            },
            label: drift.series.words.to_owned(),
            title: picture.caption().title.clone(),
            is_first: at == 0,
            formats: formats(options),
            picture: Box::new(picture),
        }
    })
    .collect()
}

fn picture(drift: &Drift, drifts: &Drifts, small_print: &str) -> TimeSeries {
    let (seconds, unit) = time_unit(drifts.last_s);
    let words = drift.series.words;
    let title = if drift.is_drifting() {
        format!("Drift of {words}")
    } else {
        capitalised(words)
    };
    let points = drift.values.iter();
    TimeSeries {
        caption: Caption {
            title,
            subtitle: subtitle(drift, drifts),
            small_print: small_print.to_owned(),
        },
        axis: ValueAxis {
            name: words.to_owned(),
            unit: drift.series.unit.to_owned(),
            from_zero: false,
        },
        time_unit: unit.to_owned(),
        points: points
            .map(|(at_s, value)| (at_s / seconds, *value))
            .collect(),
        warm_up: drifts.warm_up_s / seconds,
        trend: trend_line(drift, seconds),
    }
}

fn subtitle(drift: &Drift, drifts: &Drifts) -> String {
    let how = match (drift.slope(), drift.adjusted_p_value) {
        (Some(slope), Some(p)) if drift.is_drifting() => format!("{slope}, {}", p_text(p)),
        (Some(slope), Some(p)) => format!("no significant drift: {slope}, {}", p_text(p)),
        _ => "too few rows to test for a drift".to_owned(),
    };
    format!("{how}; {} in all", lasting(drifts.last_s))
}

/// Only if the drift is significant: a line through noise would look like a trend.
fn trend_line(drift: &Drift, seconds: f64) -> Option<TrendLine> {
    let trend = drift.trend.as_ref().filter(|_| drift.is_drifting())?;
    let tested = || {
        let values = drift.values.iter();
        values.filter(|(at_s, value)| value.is_some() && *at_s > drift.warm_up_s)
    };
    let (first, last) = (tested().next()?.0, tested().next_back()?.0);
    Some(TrendLine {
        from: (first / seconds, trend.from),
        to: (last / seconds, trend.to),
        name: "trend (Sen's slope)".to_owned(),
    })
}

/// The unit in seconds, and its name.
fn time_unit(last_s: f64) -> (f64, &'static str) {
    const ENOUGH: f64 = 2.0;
    let units = [(3600.0, "h"), (60.0, "min")].into_iter();
    let mut long_enough = units.filter(|(seconds, _)| last_s >= ENOUGH * seconds);
    long_enough.next().unwrap_or((1.0, "s"))
}
