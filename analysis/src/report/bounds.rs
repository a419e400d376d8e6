//! The table of what bounds were predicted to do to slow polls, beside the budgets that were measured.

use std::collections::BTreeMap;

use run_format::{Cell, Site};

use super::markdown::{Row, table};
use crate::prose::{self, prose};
use crate::stats::{self, CONFIDENCE, Interval, Uncertain};
use crate::summary::predicted::{FILE, METRIC, PredictedAndMeasured, limit_words};
use crate::summary::{CellFigure, CellSummary, Summary};
use crate::text::{self, number, quoted};

pub(super) fn text(summary: &Summary, site: Site) -> Option<String> {
    let mut cells = summary.by_time_beyond(site).into_iter();
    let cell = cells.find(|cell| cell.recorded_polls(site).is_some())?;
    let rows: Vec<PredictedAndMeasured> = summary.predictions(cell).collect();
    let best = rows.iter().min_by(|a, b| {
        let [a, b] = [a, b].map(|row| row.predicted_figure.estimate.value);
        a.total_cmp(&b)
    })?;
    let bounded = best.prediction.site;
    Some(prose::text(&prose!('a "bounds.txt" {
        worst: Cell = cell.cell(),
        bounded: &'a str = summary.function(bounded),
        in_worst: String = in_cell(rows, bounded, cell),
        measured: String = measured(summary),
    })))
}

fn in_cell(mut rows: Vec<PredictedAndMeasured>, site: Site, cell: &CellSummary) -> String {
    rows.retain(|row| row.prediction.site == site);
    rows.dedup_by_key(|row| row.prediction.limit);
    let unbounded = || rows.iter().find(|row| row.prediction.limit.is_none());
    // A bound that ends no poll has the figures of no bound.
    let is_shown = |row: &&PredictedAndMeasured| {
        row.prediction.limit.is_none() || Some(row.prediction.polls) != cell.recorded_polls(site)
    };
    let rows = rows.iter().filter(is_shown).map(|row| {
        let share = |polls: fn(&PredictedAndMeasured) -> u64| {
            let whole = polls(unbounded()?);
            (whole > 0).then(|| format!("{} %", number(100.0 * polls(row) as f64 / whole as f64)))
        };
        let (slow_polls, polls) = (
            share(|row| row.prediction.slow_polls),
            share(|row| row.prediction.polls),
        );
        Row::new("bound", limit_words(row.prediction.limit))
            .with(METRIC.title(), with_interval(&row.predicted_figure))
            .with_optional("slow polls, compared with none", slow_polls)
            .with_optional("polls, compared with none", polls)
            .with(
                "longest poll, µs",
                number(row.prediction.longest_ns as f64 / 1e3),
            )
    });
    table(rows)
}

fn measured(summary: &Summary) -> String {
    let mut by_variant = BTreeMap::<(usize, Site), Vec<PredictedAndMeasured>>::new();
    for pair in summary
        .measured_cells()
        .flat_map(|cell| summary.predictions(cell))
    {
        if let Some((variant, _)) = pair.measured_figure {
            let key = (variant, pair.prediction.site);
            by_variant.entry(key).or_default().push(pair);
        }
    }
    let rows = by_variant.iter().map(|((variant, site), cells)| {
        let mean = |share: fn(&PredictedAndMeasured) -> Option<f64>| {
            stats::mean(cells.iter().filter_map(share)).map(number)
        };
        let differences: Vec<Uncertain> = cells
            .iter()
            .filter_map(PredictedAndMeasured::difference)
            .collect();
        let agrees = |difference: &&Uncertain| difference.interval(CONFIDENCE).covers(0.0);
        let agreeing = differences.iter().filter(agrees).count();
        let agree = format!("{agreeing} of {}", differences.len());
        let mean_difference = stats::mean_over_cells(&differences);
        let difference =
            mean_difference.map(|mean| text::uncertain(&mean, METRIC.unit_of_difference()));
        let predicted = mean(|pair| Some(pair.predicted_figure.estimate.value));
        let measured = mean(|pair| Some(pair.measured_figure?.1.estimate.value));
        Row::new("budget", quoted(&summary.variants[*variant].label))
            .with("polls of", site)
            .with_optional(format!("predicted, {}", METRIC.info().unit), predicted)
            .with_optional(format!("measured, {}", METRIC.info().unit), measured)
            .with_optional("difference", difference)
            .with("cells that agree", agree)
    });
    table(rows)
}

fn with_interval(figure: &CellFigure) -> String {
    let value = number(figure.estimate.value);
    match figure.interval() {
        Some(Interval { low, high }) => format!("{value} [{}, {}]", number(low), number(high)),
        None => value,
    }
}
