//! What a bound would do to slow polls, predicted from recordings of single iterations; and whether measured budgets
//! did that.

use std::collections::BTreeMap;

use run_format::Site;

use super::markdown::{Document, joined, or_dash, quoted};
use crate::{
    stats::{self, Interval, Uncertain},
    summary::{
        CONFIDENCE, CellFigure, CellSummary, Summary,
        predicted::{FILE, SideBySide, in_words},
    },
    text::{self, number},
};

pub(crate) fn write(document: &mut Document, summary: &Summary, site: Site) {
    let Some(cell) = summary.most_slow_time_predicted(site) else {
        return;
    };
    document.details("What a bound would do", |document| {
        document.paragraph(format!(
            "In some slices of the baseline the time of every iteration was recorded. Each recorded poll was cut where a \
             bound would have ended it. So this table says what bounds would have done, had the same work come in the same \
             pieces. The bound 1 shows how many single iterations are slow, which no bound on the site changes. The table is \
             about the cell {}, which has the most time in slow polls of `{}`. `{FILE}` has all cells. Slow means over 50 µs.",
            cell.measured.cell,
            summary.function(site)
        ));
        of_cell(document, summary, cell);
        document.list(Site::BUDGETED.into_iter().filter_map(|it| without_effect(cell, it)));
        measured(document, summary);
    });
}

fn of_cell(document: &mut Document, summary: &Summary, cell: &CellSummary) {
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
    let row = |it: &SideBySide| {
        let of_whole = |of: fn(&SideBySide) -> u64| {
            let whole = of(whole(it.of.site)?);
            (whole > 0).then(|| format!("{} %", number(100.0 * of(it) as f64 / whole as f64)))
        };
        vec![
            it.of.site.to_string(),
            in_words(it.of.limit),
            percent(&it.predicted),
            or_dash(of_whole(|it| it.of.slow_polls)),
            or_dash(of_whole(|it| it.of.polls)),
            number(it.of.longest_ns as f64 / 1e3),
        ]
    };
    document.table(
        "site | bound | slow polls, % | slow polls, compared with none | polls, compared with none | longest poll, µs",
        rows.iter().filter(is_shown).map(row),
    );
}

fn without_effect(cell: &CellSummary, site: Site) -> Option<String> {
    let idle = cell.bounds_without_effect(site);
    let idle = joined(idle.map(|limit| quoted(format!("{site}={limit}"))), ", ");
    (!idle.is_empty()).then(|| format!("{idle} would have ended none of these polls."))
}

fn measured(document: &mut Document, summary: &Summary) {
    let mut by_variant = BTreeMap::<(usize, Site), Vec<SideBySide>>::new();
    for it in summary.measured().flat_map(|cell| summary.predicted(cell)) {
        if let Some((variant, _)) = it.measured {
            let key = (variant, it.of.site);
            by_variant.entry(key).or_default().push(it);
        }
    }
    document.paragraph(
        "The same shares, where a budget was measured. Shares are means over cells. A cell agrees if the 95 % interval of \
         the difference, measured less predicted, includes zero. One cell in twenty does not, if nothing differs. The row \
         of `none` shows how much recording itself changes.",
    );
    let row = |((variant, site), cells): (&(usize, Site), &Vec<SideBySide>)| {
        let mean = |of: fn(&SideBySide) -> Option<f64>| {
            let sum: f64 = cells.iter().filter_map(of).sum();
            number(sum / cells.len() as f64)
        };
        let differences: Vec<Uncertain> = cells.iter().filter_map(SideBySide::difference).collect();
        let agree = differences.iter().map(|it| it.interval(CONFIDENCE));
        let agree = agree.filter(|it| it.covers(0.0)).count();
        let difference = stats::mean_over_cells(&differences);
        let difference = difference.map(|it| text::change(it.value, "pp", it.interval(CONFIDENCE)));
        vec![
            quoted(&summary.variants[*variant].label),
            site.to_string(),
            mean(|it| Some(it.predicted.estimate.value)),
            mean(|it| Some(it.measured?.1.estimate.value)),
            or_dash(difference),
            format!("{agree} of {}", differences.len()),
        ]
    };
    document.table(
        "budget | polls of | predicted, % | measured, % | difference | cells that agree",
        by_variant.iter().map(row),
    );
}

fn percent(of: &CellFigure) -> String {
    let value = number(of.estimate.value);
    match of.interval() {
        Some(Interval { low, high }) => format!("{value} [{}, {}]", number(low), number(high)),
        None => value,
    }
}
