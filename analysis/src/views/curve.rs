//! The time beyond every threshold, so that a reader sees on which thresholds a conclusion depends.

use super::scene::{Entry, Scene, ends};
use crate::{
    charts::{Categories, ChartValue, LineChart, LineChartPanel, ValueAxis},
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
    let is_ranked = |it: &&Candidate| ranked.iter().any(|other| other.variant == it.variant);
    let others = verdict
        .candidates
        .iter()
        .filter(|it| !it.is_idle && !is_ranked(it));
    let candidates = ranked.iter().copied().chain(others).take(MOST_CANDIDATES);
    let shown: Vec<&Candidate> = candidates.chain(&verdict.control).collect();
    let first = shown.iter().find(|it| !it.curve.is_empty())?;
    let info = Metric::BeyondMsPerS.info();
    let level = |at: &AtThreshold| Some(ChartValue::exact(at.level));
    let change = |at: &AtThreshold| {
        let (value, interval) = at.change.filter(|(_, it)| it.high <= MOST_PERCENT)?;
        Some(ChartValue::new(value, ends(Some(interval))))
    };
    let lines = |value: &dyn Fn(&AtThreshold) -> Option<ChartValue>| {
        let of_one = |it: &&Candidate| it.curve.iter().map(value).collect();
        shown.iter().map(of_one).collect::<Vec<Vec<_>>>()
    };
    let nothing = vec![None; first.curve.len()];
    let levels = [verdict.baseline_curve.iter().map(level).collect()]
        .into_iter()
        .chain(lines(&level));
    let changes = [nothing].into_iter().chain(lines(&change));
    let panel = |name: String, unit: &str, lines: Vec<Vec<Option<ChartValue>>>| LineChartPanel {
        axis: ValueAxis {
            name,
            unit: unit.to_owned(),
            from_zero: true,
        },
        marks: Vec::new(),
        lines,
    };
    let labels = shown.iter().map(|it| it.label.clone());
    let picture = LineChart {
        caption: scene.caption(
            format!(
                "{} of {}, by the threshold",
                capitalised(info.words),
                scene.summary.function(verdict.site)
            ),
            format!(
                "means over cells; bars: 95 % intervals of the mean change, each by itself; a change is left out where it \
                 may be over +{MOST_PERCENT} %"
            ),
        ),
        series: [scene.label(0).to_owned()]
            .into_iter()
            .chain(labels)
            .collect(),
        places: Categories::new(
            "threshold, µs",
            first
                .curve
                .iter()
                .map(|it| short(it.threshold_ns as f64 / 1e3)),
        ),
        panels: vec![
            panel(info.words.to_owned(), info.unit, levels.collect()),
            panel(format!("change of {}", info.words), "%", changes.collect()),
        ],
    };
    Some(Entry {
        is_first: true,
        ..scene.entry("curve".to_owned(), picture)
    })
}
