//! The effect of tighter budgets over all cells and in the worst one; and the benefit and cost of each budget.

use poll_probe::{Budget, Limit, Wake};
use run_format::Site;

use super::scene::{CO_TENANT, Entry, Scene, cell_name, ends, of_figure, of_uncertain, stem};
use crate::{
    budget::{limit_in_words, room, wake_in_words},
    charts::{
        Categories, ChartSeries, ChartValue, LineChart, LineChartPanel, PanelLayout, TradeOff,
        TradePoint, ValueAxis,
    },
    measure::metric::{Metric, What},
    stats::{self, CONFIDENCE, MeanChange, Uncertain},
    summary::{CellFigure, CellSummary},
    verdict::is_share,
};

/// The panels of a curve: absolute values of shares, and changes in percent of all else.
const PANELS: [Metric; 4] = [
    Metric::SlowPercent,
    Metric::CotenantLatePercent,
    Metric::CotenantP99Us,
    Metric::RequestsPerS,
];

pub(super) fn entries(scene: &Scene) -> Vec<Entry> {
    let budgets = OneBudget::all(scene);
    let all: Vec<&CellSummary> = scene.summary.measured().collect();
    let has_costs = |metric| scene.summary.has(What::of(scene.verdict.site, metric));
    if scene.verdict.candidates.is_empty() || !has_costs(Metric::CotenantP99Us) {
        return Vec::new();
    }
    if budgets.is_empty() {
        return vec![trade_off(scene, &all)];
    }
    let mut entries = vec![curve(scene, &budgets, &all, "all cells", "over all cells")];
    if let Some(worst) = worst(scene, 1).first() {
        let words = "in the slowest cell";
        entries.push(curve(scene, &budgets, &[*worst], "worst cell", words));
    }
    entries.push(trade_off(scene, &all));
    entries
}

/// The cells whose baseline spends the most time in slow polls.
pub(super) fn worst<'a>(scene: &Scene<'a>, most: usize) -> Vec<&'a CellSummary> {
    let mut cells = scene.summary.by_slow_time(scene.verdict.site);
    cells.truncate(most);
    cells
}

/// A variant with a budget for a single site, and so with a place on the axis of budgets.
struct OneBudget {
    variant: usize,
    site: Site,
    budget: Budget,
}

impl OneBudget {
    fn all(scene: &Scene) -> Vec<OneBudget> {
        let one = |variant: usize| {
            let mut bounds = scene.summary.variants[variant].bounds();
            let (site, budget) = bounds.next()?;
            bounds.next().is_none().then_some(OneBudget {
                variant,
                site,
                budget,
            })
        };
        scene.all().filter_map(one).collect()
    }

    fn line(&self) -> (Site, Wake) {
        (self.site, self.budget.wake)
    }
}

fn curve(
    scene: &Scene,
    budgets: &[OneBudget],
    cells: &[&CellSummary],
    name: &str,
    words: &str,
) -> Entry {
    let mut limits: Vec<Limit> = budgets.iter().map(|it| it.budget.limit).collect();
    limits.sort_by_key(|limit| {
        let (kind, room) = room(*limit);
        (kind, u64::MAX - room)
    });
    limits.dedup();
    let mut lines: Vec<(Site, Wake)> = budgets.iter().map(OneBudget::line).collect();
    lines.sort_by_key(|(site, wake)| (*site, *wake == Wake::Deferred));
    lines.dedup();
    let places =
        std::iter::once("none".to_owned()).chain(limits.iter().map(|limit| limit_in_words(*limit)));
    let places = Categories {
        name: "budget (a number without a unit: iterations per poll)".to_owned(),
        labels: places.collect(),
    };
    let panel = |metric: Metric| {
        let point = |line: &(Site, Wake), limit: &Limit| {
            let found = budgets
                .iter()
                .find(|it| it.line() == *line && it.budget.limit == *limit)?;
            value(scene, cells, metric, found.variant)
        };
        let of_line = |line: &(Site, Wake)| {
            let points = limits.iter().map(|limit| point(line, limit));
            std::iter::once(None).chain(points).collect()
        };
        let control = scene.summary.control();
        LineChartPanel {
            title: String::new(),
            places: places.clone(),
            axis: axis(metric),
            baseline: value(scene, cells, metric, 0),
            marks: control
                .and_then(|(control, _)| Some((0, value(scene, cells, metric, control)?)))
                .into_iter()
                .collect(),
            lines: lines.iter().map(of_line).collect(),
        }
    };
    let over = match cells {
        [cell] => format!(
            "the cell with the most time in slow polls: {}",
            cell_name(&cell.cell)
        ),
        _ => "each point: the mean over cells".to_owned(),
    };
    let picture = LineChart {
        caption: scene.caption(
            format!("Effect of tighter budgets {words}"),
            format!(
                "{over}; change: compared with no budget; slow polls of {}; slow and late: more than {}; {CO_TENANT}; \
                 bars and bands: 95 % intervals",
                scene.summary.function(scene.verdict.site),
                scene.options.threshold_text(),
            ),
        ),
        layout: PanelLayout::OneBelowTheOther,
        series: lines
            .iter()
            .enumerate()
            .map(|(slot, line)| series(slot, *line))
            .collect(),
        baseline_name: "none (baseline)".to_owned(),
        marks_name: "A/A control: a second copy of the baseline".to_owned(),
        panels: PANELS.map(panel).into_iter().collect(),
    };
    scene.entry(
        "Comparison of budgets",
        stem(&["budget-curve", name]),
        format!("tighter budgets {words}"),
        picture,
    )
}

fn series(slot: usize, (site, wake): (Site, Wake)) -> ChartSeries {
    ChartSeries {
        name: format!("{site}, {}", wake_in_words(wake)),
        slot,
    }
}

fn axis(metric: Metric) -> ValueAxis {
    let is_level = is_share(metric);
    ValueAxis {
        name: if is_level {
            metric.words().to_owned()
        } else {
            format!("change of {}", metric.words())
        },
        unit: "%".to_owned(),
        from_zero: true,
    }
}

/// The mean over cells.
fn value(
    scene: &Scene,
    cells: &[&CellSummary],
    metric: Metric,
    variant: usize,
) -> Option<ChartValue> {
    let what = What::of(scene.verdict.site, metric);
    if is_share(metric) {
        if let [cell] = cells {
            return cell.figure(what, variant).map(of_figure);
        }
        return mean_level(cells.iter().filter_map(|cell| cell.figure(what, variant)));
    }
    if variant == 0 {
        return Some(ChartValue::exact(0.0));
    }
    let changes = cells
        .iter()
        .map(|cell| cell.change(what, variant)?.relative);
    let mean = MeanChange::of_relatives(&changes.flatten().collect::<Vec<_>>())?;
    Some(ChartValue {
        value: mean.value(),
        interval: ends(Some(mean.interval(CONFIDENCE))),
    })
}

/// The mean of values that cannot be negative. It has an interval only if all of them have one.
pub(super) fn mean_level<'a>(figures: impl Iterator<Item = &'a CellFigure>) -> Option<ChartValue> {
    let figures: Vec<&CellFigure> = figures.collect();
    let levels: Option<Vec<Uncertain>> = figures.iter().map(|figure| figure.level).collect();
    let Some(levels) = levels else {
        let sum: f64 = figures.iter().map(|figure| figure.value).sum();
        return Some(ChartValue::exact(sum / figures.len() as f64));
    };
    let mean = of_uncertain(stats::mean_over_cells(&levels)?);
    Some(ChartValue {
        interval: mean.interval.map(|(low, high)| (low.max(0.0), high)),
        ..mean
    })
}

fn trade_off(scene: &Scene, cells: &[&CellSummary]) -> Entry {
    let points = scene.all().skip(1).filter_map(|variant| {
        Some(TradePoint {
            name: scene.label(variant).to_owned(),
            slot: variant,
            x: value(scene, cells, Metric::RequestsPerS, variant)?,
            y: value(scene, cells, Metric::CotenantP99Us, variant)?,
        })
    });
    let picture = TradeOff {
        caption: scene.caption(
            "Co-tenant wake-up latency and throughput under each budget".to_owned(),
            format!(
                "mean change over all cells, compared with no budget; bars: 95 % intervals; {CO_TENANT}"
            ),
        ),
        x: axis(Metric::RequestsPerS),
        y: axis(Metric::CotenantP99Us),
        good_corner: "better: more throughput, lower latency".to_owned(),
        points: points.collect(),
    };
    scene.entry(
        "Comparison of budgets",
        "trade-off".to_owned(),
        "co-tenant wake-up latency and throughput".to_owned(),
        picture,
    )
}
