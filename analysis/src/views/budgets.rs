//! What every variant did, over all cells.

use super::scene::{CO_TENANT, Entry, Scene, ends, of_uncertain};
use crate::{
    charts::{Categories, ChartValue, LineChart, LineChartPanel, ValueAxis},
    measure::{
        metric::{Metric, MetricKey},
        metric_info::Place,
    },
    stats::{self, CONFIDENCE, MeanChange, Uncertain},
    summary::CellFigure,
    verdict::is_share,
};

/// Of more, the labels could not be read. The page has all.
const MOST_VARIANTS: usize = 10;

/// None unless some variant has a change of the co-tenant's latency.
pub(super) fn entry(scene: &Scene) -> Option<Entry> {
    let variants = &scene.summary.variants;
    let has_costs =
        |variant: usize| variant > 0 && value(scene, Metric::CotenantP99Us, variant).is_some();
    let is_drawn = variants.len() <= MOST_VARIANTS && (0..variants.len()).any(has_costs);
    is_drawn.then(|| scene.entry("budgets".to_owned(), picture(scene)))
}

fn picture(scene: &Scene) -> LineChart {
    let panels = Metric::shown_in(Place::Budgets).into_iter();
    let labels = scene.summary.variants.iter().map(|variant| &variant.label);
    let subtitle = format!(
        "each ring: the mean over cells; change: compared with {}; slow polls of {}; \
         slow and late: more than {}; {CO_TENANT}; bars: 95 % intervals",
        scene.label(0),
        scene.summary.function(scene.verdict.site),
        scene.options.threshold_text(),
    );
    LineChart {
        caption: scene.caption("Effect of each variant over all cells".to_owned(), subtitle),
        series: Vec::new(),
        places: Categories::new("variant", labels),
        panels: panels.map(|metric| panel(scene, metric)).collect(),
    }
}

/// Absolute values of shares, and changes in percent of all else.
fn panel(scene: &Scene, metric: Metric) -> LineChartPanel {
    let variants = 0..scene.summary.variants.len();
    let mark = |variant| Some((variant, value(scene, metric, variant)?));
    let is_level = is_share(metric);
    LineChartPanel {
        axis: ValueAxis {
            name: if is_level {
                metric.info().words.to_owned()
            } else {
                format!("change of {}", metric.info().words)
            },
            unit: "%".to_owned(),
            from_zero: true,
        },
        marks: variants.filter_map(mark).collect(),
        lines: Vec::new(),
    }
}

/// The mean over cells.
fn value(scene: &Scene, metric: Metric, variant: usize) -> Option<ChartValue> {
    let what = MetricKey::new(scene.verdict.site, metric);
    let cells = scene.summary.measured();
    if is_share(metric) {
        return mean_level(cells.filter_map(|cell| cell.figure(what, variant)));
    }
    if variant == 0 {
        return Some(ChartValue::exact(0.0));
    }
    let changes = cells.map(|cell| cell.change(what, variant)?.relative);
    let mean = MeanChange::of_relatives(&changes.flatten().collect::<Vec<_>>())?;
    Some(ChartValue::new(
        mean.value(),
        ends(Some(mean.interval(CONFIDENCE))),
    ))
}

/// The mean of values that cannot be negative. None unless all of them have intervals.
fn mean_level<'a>(figures: impl Iterator<Item = &'a CellFigure>) -> Option<ChartValue> {
    let levels: Option<Vec<Uncertain>> = figures.map(|figure| figure.estimate.level).collect();
    let mean = of_uncertain(stats::mean_over_cells(&levels?)?);
    Some(ChartValue {
        interval: mean.interval.map(|(low, high)| (low.max(0.0), high)),
        ..mean
    })
}
