//! What tighter budgets do, over all cells and in the worst one; and what they gain for what they cost.

use super::{Entry, Scene, ends, of_figure, of_uncertain, stem};
use crate::{
    budget::{Budget, Limit, Wake},
    charts::{
        Better, BudgetCurve, BudgetPanel, Categories, Estimate, Quantity, Series, TradeOff,
        TradePoint,
    },
    measure::metric::{Metric, What},
    site::Site,
    stats::{self, Uncertain},
    summary::{CONFIDENCE, CellSummary, Figure},
    verdict::{is_share, words::LEAST_PERCENT},
};

/// The panels of a curve: levels of shares, and changes in percent.
const PANELS: [Metric; 4] = [
    Metric::SlowPercent,
    Metric::CotenantLatePercent,
    Metric::CotenantP99Us,
    Metric::RequestsPerS,
];

pub(super) fn entries(scene: &Scene) -> Vec<Entry> {
    let budgets = OneBudget::all(scene);
    let all: Vec<&CellSummary> = scene.summary.measured().collect();
    if scene.verdict.candidates.is_empty() {
        return Vec::new();
    }
    if budgets.is_empty() {
        return vec![trade_off(scene, &all)];
    }
    let mut entries = vec![curve(
        scene,
        &budgets,
        &all,
        "all cells",
        "mean over all cells",
    )];
    if let Some(worst) = worst(scene, 1).first() {
        let name = worst.cell.to_string();
        entries.push(curve(scene, &budgets, &[*worst], "worst cell", &name));
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

/// A variant that bounds one site, which gives it a place on the axis.
struct OneBudget {
    variant: usize,
    budget: Budget,
}

impl OneBudget {
    fn all(scene: &Scene) -> Vec<OneBudget> {
        let one = |variant: usize| {
            let mut budgets = Budget::all(&scene.summary.variants[variant].budgets);
            (budgets.len() == 1).then(|| OneBudget {
                variant,
                budget: budgets.remove(0),
            })
        };
        scene.all().filter_map(one).collect()
    }

    fn line(&self) -> (Site, Wake) {
        (self.budget.site, self.budget.wake)
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
        let (kind, room) = limit.room();
        (kind, u64::MAX - room)
    });
    limits.dedup();
    let mut lines: Vec<(Site, Wake)> = budgets.iter().map(OneBudget::line).collect();
    lines.sort();
    lines.dedup();
    let places = std::iter::once("none".to_owned()).chain(limits.iter().map(|limit| limit.text()));
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
        BudgetPanel {
            quantity: quantity(metric),
            baseline: value(scene, cells, metric, 0),
            twin: scene
                .summary
                .twin()
                .and_then(|(twin, _)| value(scene, cells, metric, twin)),
            lines: lines.iter().map(of_line).collect(),
        }
    };
    let picture = BudgetCurve {
        caption: scene.caption(
            format!("What tighter budgets do: {words}"),
            format!(
                "slow polls of {}, over {}; changes are against no budget; 95 % intervals",
                scene.verdict.site.function(),
                scene.options.threshold_text()
            ),
        ),
        budgets: Categories {
            name: "budget: iterations per poll, or as written".to_owned(),
            labels: places.collect(),
        },
        series: lines
            .iter()
            .enumerate()
            .map(|(slot, line)| series(slot, *line))
            .collect(),
        baseline_name: "none".to_owned(),
        twin_name: "none again (A/A)".to_owned(),
        panels: PANELS.map(panel).into_iter().collect(),
    };
    scene.entry(
        "Budgets against each other",
        stem(&["budget-curve", name]),
        format!("curve, {words}"),
        picture,
    )
}

fn series(slot: usize, (site, wake): (Site, Wake)) -> Series {
    Series {
        name: format!("{site}, {}", wake.name()),
        slot,
    }
}

fn quantity(metric: Metric) -> Quantity {
    let is_level = is_share(metric);
    Quantity {
        name: if is_level {
            metric.words().to_owned()
        } else {
            format!("{}, change", metric.words())
        },
        unit: "%".to_owned(),
        from_zero: true,
    }
}

/// The mean level over cells for shares, the median relative change for all else.
fn value(
    scene: &Scene,
    cells: &[&CellSummary],
    metric: Metric,
    variant: usize,
) -> Option<Estimate> {
    let what = What::of(scene.verdict.site, metric);
    if is_share(metric) {
        if let [cell] = cells {
            return cell.figure(what, variant).map(of_figure);
        }
        return mean_level(cells.iter().filter_map(|cell| cell.figure(what, variant)));
    }
    if variant == 0 {
        return Some(Estimate {
            value: 0.0,
            interval: None,
        });
    }
    middle(
        cells
            .iter()
            .filter_map(|cell| cell.change(what, variant)?.relative),
    )
}

/// Of many cells the median, of a few the mean.
fn middle(of: impl Iterator<Item = Uncertain>) -> Option<Estimate> {
    let of: Vec<Uncertain> = of.collect();
    let middle = stats::middle_of_cells(&of, CONFIDENCE)?;
    Some(Estimate {
        value: middle.value,
        interval: ends(Some(middle.interval)).map(|(low, high)| (low.max(LEAST_PERCENT), high)),
    })
}

/// Of what cannot be negative. Where nothing is known of how sure any is, nothing is of their mean.
pub(super) fn mean_level<'a>(figures: impl Iterator<Item = &'a Figure>) -> Option<Estimate> {
    let figures: Vec<&Figure> = figures.collect();
    let levels: Option<Vec<Uncertain>> = figures.iter().map(|figure| figure.level).collect();
    let Some(levels) = levels else {
        let sum: f64 = figures.iter().map(|figure| figure.value).sum();
        return Some(Estimate {
            value: sum / figures.len() as f64,
            interval: None,
        });
    };
    let mean = of_uncertain(stats::mean_over_cells(&levels)?);
    Some(Estimate {
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
            "What a budget gives a co-tenant, and what it costs".to_owned(),
            "median change over all cells against no budget; 95 % intervals",
        ),
        x: quantity(Metric::RequestsPerS),
        y: quantity(Metric::CotenantP99Us),
        x_better: Better::Higher,
        y_better: Better::Lower,
        good_corner: "better: more throughput, shorter delay".to_owned(),
        points: points.collect(),
    };
    scene.entry(
        "Budgets against each other",
        "trade-off".to_owned(),
        "co-tenant's delay against throughput".to_owned(),
        picture,
    )
}
