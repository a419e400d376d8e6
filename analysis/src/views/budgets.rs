//! What every variant did, over all cells.

use super::scene::{CO_TENANT, Entry, Scene, ends};
use crate::{
    charts::{Categories, ChartValue, LineChart, LineChartPanel, ValueAxis},
    measure::metric::Metric,
    verdict::{is_share, unit},
};

/// Of more, the labels could not be read. The page has all.
const MOST_VARIANTS: usize = 10;

/// None if nothing was judged.
pub(super) fn entry(scene: &Scene) -> Option<Entry> {
    let is_drawn =
        scene.summary.variants.len() <= MOST_VARIANTS && !scene.verdict.quantities.is_empty();
    is_drawn.then(|| scene.entry("budgets".to_owned(), picture(scene)))
}

/// A panel for each quantity that decides.
fn picture(scene: &Scene) -> LineChart {
    let quantities = scene.verdict.quantities.iter();
    let labels = scene.summary.variants.iter().map(|variant| &variant.label);
    let subtitle = format!(
        "each ring: the mean change over cells, compared with {}; polls of {}; threshold: {}; {CO_TENANT}; \
         bars: the intervals of the report's table",
        scene.label(0),
        scene.summary.function(scene.verdict.site),
        scene.options.threshold_text(),
    );
    LineChart {
        caption: scene.caption("Effect of each variant over all cells".to_owned(), subtitle),
        series: Vec::new(),
        places: Categories::new("variant", labels),
        panels: quantities.map(|(it, _)| panel(scene, it.metric)).collect(),
    }
}

fn panel(scene: &Scene, metric: Metric) -> LineChartPanel {
    let variants = 0..scene.summary.variants.len();
    let mark = |variant| Some((variant, value(scene, metric, variant)?));
    LineChartPanel {
        axis: ValueAxis {
            name: format!("change of {}", metric.info().words),
            unit: match is_share(metric) {
                true => "percentage points".to_owned(),
                false => unit(metric).to_owned(),
            },
            from_zero: true,
        },
        marks: variants.filter_map(mark).collect(),
        lines: Vec::new(),
    }
}

fn value(scene: &Scene, metric: Metric, variant: usize) -> Option<ChartValue> {
    if variant == 0 {
        return Some(ChartValue::exact(0.0));
    }
    let mean = scene.verdict.change(scene.summary, variant, metric)?;
    Some(ChartValue::new(
        mean.value(),
        ends(Some(mean.interval(scene.verdict.confidence))),
    ))
}
