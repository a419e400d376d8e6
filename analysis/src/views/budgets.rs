//! What every variant did, over all cells.

use super::scene::{CO_TENANT, Entry, Scene, panel};
use crate::{
    charts::{Categories, ChartValue, LineChart, LineChartPanel},
    measure::metric::Metric,
    verdict::{is_share, unit},
};

/// Of more, the labels could not be read. The page has all.
const MOST_VARIANTS: usize = 10;

/// A panel for each quantity that decides. None if nothing was judged.
pub(super) fn entry(scene: &Scene) -> Option<Entry> {
    let (summary, verdict) = (scene.summary, scene.verdict);
    if summary.variants.len() > MOST_VARIANTS || verdict.quantities.is_empty() {
        return None;
    }
    let quantities = verdict.quantities.iter();
    let labels = summary.variants.iter().map(|variant| &variant.label);
    let chart = LineChart {
        series: Vec::new(),
        places: Categories::new("variant", labels),
        panels: quantities
            .map(|(quantity, _)| changes(scene, quantity.metric))
            .collect(),
    };
    let subtitle = format!(
        "each dot: the mean change over cells, compared with {}; polls of {}; threshold: {}; {CO_TENANT}; \
         bars: the intervals of the report's table",
        scene.label(0),
        summary.function(verdict.site),
        scene.options.threshold_text(),
    );
    let title = "Effect of each variant over all cells".to_owned();
    Some(scene.entry(&["budgets"], title, subtitle, chart))
}

fn changes(scene: &Scene, metric: Metric) -> LineChartPanel {
    let change = |variant| {
        if variant == 0 {
            return Some(ChartValue::exact(0.0));
        }
        let mean = scene.verdict.change(scene.summary, variant, metric)?;
        let interval = mean.interval(scene.verdict.confidence);
        Some(ChartValue::new(mean.value(), Some(interval)))
    };
    let unit = match is_share(metric) {
        true => "percentage points",
        false => unit(metric),
    };
    let changes = (0..scene.summary.variants.len()).map(change).collect();
    panel(
        &format!("change of {}", metric.info().words),
        unit,
        vec![changes],
    )
}
