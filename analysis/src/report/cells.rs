//! The verdict on each cell. Cells with the most slow time come first.

use super::markdown::{Document, joined, or_dash, quoted};
use crate::{
    measure::metric::{Metric, What},
    summary::{CellFigure, CellSummary, Summary},
    text::number,
    verdict::{InCell, Verdict, holders},
};

pub(crate) fn write(document: &mut Document, summary: &Summary, verdict: &Verdict, most: usize) {
    let site = verdict.site;
    let cells = summary.by_slow_time(site);
    document.list([
        format!(
            "Columns of the baseline: the share of slow polls of `{}`, their time, the share of them that have a \
             single slow iteration, and the child that takes most of their time.",
            summary.function(site)
        ),
        "Columns of budgets: the resolved changes. A dash means that no change is resolved, or that the cell has too few blocks for a comparison.".to_owned(),
    ]);
    let left_out = cells.len().saturating_sub(most);
    let unmeasured = summary.cells.len() - cells.len();
    let (head, rows) = table(&cells[..cells.len() - left_out], verdict);
    document.table(&head, rows);
    let notes = [
        (
            left_out,
            "Cells with less slow time that only `summary.csv` has",
        ),
        (unmeasured, "Cells without figures (see the caveats)"),
    ];
    let notes = notes.iter().filter(|(cells, _)| *cells > 0);
    document.list(notes.map(|(cells, note)| format!("{note}: {cells}.")));
}

/// A row for each cell.
pub(crate) fn table(cells: &[&CellSummary], verdict: &Verdict) -> (Vec<String>, Vec<Vec<String>>) {
    let mut head = [
        "cell",
        "slow polls, %",
        "slow time, ms per s",
        "single slow iteration, %",
        "most time in",
    ]
    .map(str::to_owned)
    .to_vec();
    head.extend(verdict.candidates.iter().map(|it| quoted(&it.label)));
    let rows = cells.iter().map(|cell| row(cell, verdict));
    (head, rows.collect())
}

fn row(cell: &CellSummary, verdict: &Verdict) -> Vec<String> {
    let figure = |metric| cell.figure(What::of(verdict.site, metric), 0);
    let value = |metric| or_dash(figure(metric).map(|it| number(it.value)));
    let mut row = vec![
        cell.cell.to_string(),
        or_dash(figure(Metric::SlowPercent).map(with_interval)),
        value(Metric::SlowMsPerS),
        value(Metric::SingleIterationPercent),
        or_dash(holder(cell, verdict)),
    ];
    row.extend(
        verdict
            .candidates
            .iter()
            .map(|candidate| match candidate.is_idle {
                true => "never fires".to_owned(),
                false => InCell::of(cell, verdict.site, candidate.variant).words(),
            }),
    );
    row
}

fn with_interval(figure: &CellFigure) -> String {
    let interval = figure.interval.filter(|it| it.high.is_finite());
    let ends = interval.map(|it| format!("[{}, {}]", number(it.low), number(it.high)));
    joined(
        [Some(number(figure.value)), ends].into_iter().flatten(),
        " ",
    )
}

fn holder(cell: &CellSummary, verdict: &Verdict) -> Option<String> {
    let holders = holders::among(std::iter::once(cell), verdict.site);
    let most = holders.into_iter().find(|it| it.slow)?;
    Some(format!("{} {} %", most.child, number(most.percent)))
}
