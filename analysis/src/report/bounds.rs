//! What a bound would do to slow polls, predicted from recordings of single iterations; and whether budgets did that.

use std::collections::BTreeMap;

use run_format::{Cell, Site};

use super::markdown::{Row, joined_any, quoted, table};
use crate::prose::{self, prose};
use crate::stats::{self, Interval, Uncertain};
use crate::summary::predicted::{FILE, METRIC, SideBySide, in_words};
use crate::summary::{CONFIDENCE, CellFigure, CellSummary, Summary};
use crate::text::{self, number};

pub(super) fn text(summary: &Summary, site: Site) -> Option<String> {
    let mut cells = summary.by_time_beyond(site).into_iter();
    let cell = cells.find(|cell| cell.recorded_polls(site).is_some())?;
    let without_effect = Site::BUDGETED.into_iter().filter_map(|site| {
        let idle = cell.bounds_without_effect(site);
        joined_any(idle.map(|limit| quoted(format!("{site}={limit}"))), ", ")
    });
    Some(prose::text(&prose!('a "bounds.txt" {
        worst: Cell = cell.measured.cell,
        function: &'a str = summary.function(site),
        of_cell: String = of_cell(summary, cell),
        without_effect: Vec<String> = without_effect.collect(),
        measured: String = measured(summary),
    })))
}

fn of_cell(summary: &Summary, cell: &CellSummary) -> String {
    let mut rows: Vec<SideBySide> = summary.predicted(cell).collect();
    rows.dedup_by_key(|it| (it.of.site, it.of.limit));
    let whole = |site: Site| {
        rows.iter()
            .find(|it| it.of.site == site && it.of.limit.is_none())
    };
    // Bounds that end no poll have the figures of none.
    let is_shown = |it: &&SideBySide| {
        it.of.limit.is_none() || Some(it.of.polls) != cell.recorded_polls(it.of.site)
    };
    let rows = rows.iter().filter(is_shown).map(|row| {
        let share = |polls: fn(&SideBySide) -> u64| {
            let whole = polls(whole(row.of.site)?);
            (whole > 0).then(|| format!("{} %", number(100.0 * polls(row) as f64 / whole as f64)))
        };
        let (slow_polls, polls) = (share(|row| row.of.slow_polls), share(|row| row.of.polls));
        Row::of("site", row.of.site)
            .with("bound", in_words(row.of.limit))
            .with(METRIC.title(), percent(&row.predicted))
            .with_any("slow polls, compared with none", slow_polls)
            .with_any("polls, compared with none", polls)
            .with("longest poll, µs", number(row.of.longest_ns as f64 / 1e3))
    });
    table(rows)
}

fn measured(summary: &Summary) -> String {
    let mut by_variant = BTreeMap::<(usize, Site), Vec<SideBySide>>::new();
    for pair in summary.measured().flat_map(|cell| summary.predicted(cell)) {
        if let Some((variant, _)) = pair.measured {
            let key = (variant, pair.of.site);
            by_variant.entry(key).or_default().push(pair);
        }
    }
    let rows = by_variant.iter().map(|((variant, site), cells)| {
        let mean = |share: fn(&SideBySide) -> Option<f64>| {
            stats::mean(cells.iter().filter_map(share)).map(number)
        };
        let differences: Vec<Uncertain> = cells.iter().filter_map(SideBySide::difference).collect();
        let is_none = |it: &&Uncertain| it.interval(CONFIDENCE).covers(0.0);
        let agree = differences.iter().filter(is_none).count();
        let agree = format!("{agree} of {}", differences.len());
        let difference = stats::mean_over_cells(&differences);
        let difference = difference.map(|it| text::uncertain(&it, METRIC.change_unit()));
        let predicted = mean(|pair| Some(pair.predicted.estimate.value));
        let measured = mean(|pair| Some(pair.measured?.1.estimate.value));
        Row::of("budget", quoted(&summary.variants[*variant].label))
            .with("polls of", site)
            .with_any(format!("predicted, {}", METRIC.info().unit), predicted)
            .with_any(format!("measured, {}", METRIC.info().unit), measured)
            .with_any("difference", difference)
            .with("cells that agree", agree)
    });
    table(rows)
}

fn percent(of: &CellFigure) -> String {
    let value = number(of.estimate.value);
    match of.interval() {
        Some(Interval { low, high }) => format!("{value} [{}, {}]", number(low), number(high)),
        None => value,
    }
}
