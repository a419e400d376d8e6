//! The report of a published table. It has a figure per cell and no intervals, so nothing in it is judged.

use std::cmp::Reverse;

use run_format::Site;

use super::markdown::{Document, Frame, Row, joined, table};
use crate::measure::{Metric, MetricKey, Place};
use crate::options::Options;
use crate::prose::prose;
use crate::summary::{CellSummary, Summary};
use crate::text::{count, number};

/// How many cells have more than one slow poll in a hundred, and the worst of them: of all cells, then by payload.
pub(crate) fn sentences(summary: &Summary, site: Site, variant: usize) -> Vec<String> {
    let what = MetricKey::new(site, Metric::SlowPercent);
    let share = |cell: &&CellSummary| cell.value(what, variant);
    let of = |cells: Vec<&CellSummary>| {
        let over = cells.iter().filter(|cell| share(cell) > Some(1.0)).count();
        let values = cells.iter().filter_map(|cell| Some((cell, share(cell)?)));
        let (worst, percent) = values.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (cells, percent) = (count(cells.len(), "cell"), number(percent));
        Some(format!(
            "over 1 % in {over} of {cells}; the worst is {} with {percent} %.",
            worst.measured.cell
        ))
    };
    let measured = || summary.measured().filter(|cell| share(cell).is_some());
    let all = of(measured().collect());
    let all = all.map(|words| format!("Slow polls of `{}` are {words}", summary.function(site)));
    let payloads = summary.axes.payload_bytes.iter().filter_map(|payload| {
        let cells = measured().filter(|it| it.measured.cell.payload_bytes == *payload);
        Some(format!("{}: {}", payload.in_words(), of(cells.collect())?))
    });
    all.into_iter().chain(payloads).collect()
}

pub(crate) fn text(summary: &Summary, frame: Frame) -> String {
    let title = format!("Slow polls in a published table: {}", summary.identity.name);
    let sites = &summary.identity.sites;
    let mut document = Document::new("published", &title, sites, frame);
    document.prose(&prose!("published.txt" {
        source: String = summary.identity.line(),
        cells: String = table(cells(summary, frame.2, &["value"])),
    }));
    document.finish()
}

/// The figures of every cell under each variant, in these words. What no cell has is no column.
pub(super) fn cells(summary: &Summary, options: &Options, variants: &[&str]) -> Vec<Row> {
    const MOST_ROWS: usize = 300;
    let metrics = Metric::shown_in(Place::Published);
    let wanted = MetricKey::all(&options.sites()).into_iter();
    let wanted = wanted.filter(|it| metrics.contains(&it.metric) && summary.has(*it));
    let wanted: Vec<MetricKey> = wanted.collect();
    let sides = match variants {
        [_] => String::new(),
        _ => format!(", {}", variants.join(" / ")),
    };
    let mut rows: Vec<&CellSummary> = summary.measured().collect();
    let worst = MetricKey::new(summary.first_site(options), Metric::SlowPercent);
    rows.sort_by_key(|cell| Reverse((1e6 * cell.value(worst, 0).unwrap_or(0.0)) as u64));
    let rows = rows.iter().take(MOST_ROWS).map(|cell| {
        let mut row = Row::of("cell", cell.measured.cell);
        for what in &wanted {
            let site = what.site.map_or_else(String::new, |it| format!(" ({it})"));
            let info = what.metric.info();
            let value = |at| cell.value(*what, at).map_or_else(|| "–".to_owned(), number);
            let values = joined((0..variants.len()).map(value), " / ");
            let title = format!("{}{site}, {}{sides}", info.words, info.unit);
            row = row.with(title, values);
        }
        row
    });
    rows.collect()
}
