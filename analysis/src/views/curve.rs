//! The time beyond every threshold, so that a reader sees on which thresholds a conclusion depends.

use super::scene::{Entry, Scene, panel};
use crate::{
    charts::{Categories, ChartValue, LineChart},
    measure::metric::Metric,
    text::{capitalised, short},
    verdict::{AtThreshold, Candidate},
};

/// A change that may be greater is not known, and would flatten the others.
const MOST_PERCENT: f64 = 150.0;

/// Of more lines, bars would cover each other.
const MOST_CANDIDATES: usize = 4;

/// The best candidates that fired, and the A/A control. None without a curve, as of a published table.
pub(super) fn entry(scene: &Scene) -> Option<Entry> {
    let verdict = scene.verdict;
    let ranked = verdict.ranked();
    let is_ranked = |variant| ranked.iter().any(|other| other.variant == variant);
    let others = verdict.candidates.iter();
    let others = others.filter(|candidate| !candidate.is_idle && !is_ranked(candidate.variant));
    let candidates = ranked.iter().copied().chain(others).take(MOST_CANDIDATES);
    let shown: Vec<&Candidate> = candidates.chain(&verdict.control).collect();
    let first = &shown
        .iter()
        .find(|candidate| !candidate.curve.is_empty())?
        .curve;
    let level = |at: &AtThreshold| Some(ChartValue::exact(at.level));
    let change = |at: &AtThreshold| {
        let (value, interval) = at
            .change
            .filter(|(_, interval)| interval.high <= MOST_PERCENT)?;
        Some(ChartValue::new(value, Some(interval)))
    };
    let mut levels: Vec<Vec<_>> = vec![verdict.baseline_curve.iter().map(level).collect()];
    let mut changes = vec![vec![None; first.len()]];
    let mut series = vec![scene.label(0).to_owned()];
    for candidate in shown {
        levels.push(candidate.curve.iter().map(level).collect());
        changes.push(candidate.curve.iter().map(change).collect());
        series.push(candidate.label.clone());
    }
    let info = Metric::BeyondMsPerS.info();
    let thresholds = first.iter().map(|at| short(at.threshold_ns as f64 / 1e3));
    let chart = LineChart {
        series,
        places: Categories::new("threshold, µs", thresholds),
        panels: vec![
            panel(info.words, info.unit, levels),
            panel(&format!("change of {}", info.words), "%", changes),
        ],
    };
    let function = scene.summary.function(verdict.site);
    let title = format!(
        "{} of {function}, by the threshold",
        capitalised(info.words)
    );
    let subtitle = format!(
        "means over cells; bars: 95 % intervals of the mean change, each by itself; a change is left out where it \
         may be over +{MOST_PERCENT} %"
    );
    Some(Entry {
        is_first: true,
        ..scene.entry(&["curve"], title, subtitle, chart)
    })
}
