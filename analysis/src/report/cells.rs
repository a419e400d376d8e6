//! The verdict on each cell, those with the most slow time first.

use super::markdown::Document;
use crate::{
    measure::{
        State,
        metric::{Metric, What},
    },
    summary::{CellSummary, Figure, Summary},
    text::{count, number},
    verdict::{self, Class, Verdict, holders},
};

pub(crate) fn write(document: &mut Document, summary: &Summary, verdict: &Verdict, most: usize) {
    let site = verdict.site;
    let mut cells = summary.by_slow_time(site);
    let left_out = cells.len().saturating_sub(most);
    cells.truncate(most);
    document.paragraph(&format!(
        "Of the baseline: slow polls of `{}`, their time, the share of them that has one iteration over the \
         threshold, and the child that holds most of their time. Of each budget: what is resolved, and nothing \
         where nothing is.",
        site.function()
    ));
    let mut head = vec![
        "cell",
        "slow polls, %",
        "ms per s",
        "one iteration, %",
        "held by",
    ];
    let labels: Vec<String> = verdict
        .candidates
        .iter()
        .map(|judged| format!("`{}`", judged.label))
        .collect();
    head.extend(labels.iter().map(String::as_str));
    let rows: Vec<Vec<String>> = cells.iter().map(|cell| row(cell, verdict)).collect();
    document.table(&head, &rows);
    if left_out > 0 {
        document.paragraph(&format!(
            "{} more, with less slow time, in `summary.csv`.",
            count(left_out, "cell")
        ));
    }
    let unmeasured = summary
        .cells
        .iter()
        .filter(|cell| cell.state != State::Measured)
        .count();
    if unmeasured > 0 {
        document.paragraph(&format!(
            "{} without figures; see the caveats.",
            count(unmeasured, "cell")
        ));
    }
}

fn row(cell: &CellSummary, verdict: &Verdict) -> Vec<String> {
    let figure = |metric| cell.figure(What::of(verdict.site, metric), 0);
    let value = |metric| figure(metric).map_or_else(|| "–".to_owned(), |it| number(it.value));
    let mut row = vec![
        cell.cell.to_string(),
        figure(Metric::SlowPercent).map_or_else(|| "–".to_owned(), with_interval),
        value(Metric::SlowMsPerS),
        value(Metric::SingleIterationPercent),
        holder(cell, verdict),
    ];
    for judged in &verdict.candidates {
        let in_cell = verdict::in_cell(cell, verdict.site, judged.variant);
        row.push(match judged.class {
            Class::NeverFires | Class::NoSite => "cannot".to_owned(),
            _ => in_cell.words(cell, verdict.site, judged.variant),
        });
    }
    row
}

fn with_interval(figure: &Figure) -> String {
    match figure.interval {
        Some(interval) if interval.high.is_finite() => format!(
            "{} [{}, {}]",
            number(figure.value),
            number(interval.low),
            number(interval.high)
        ),
        _ => number(figure.value),
    }
}

fn holder(cell: &CellSummary, verdict: &Verdict) -> String {
    holders::among(std::iter::once(cell), verdict.site)
        .into_iter()
        .find(|it| it.slow)
        .map_or_else(
            || "–".to_owned(),
            |it| format!("{} {} %", it.child, number(it.percent)),
        )
}
