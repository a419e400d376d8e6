//! The report of `published`. A published table has a figure per cell and no intervals, so nothing in it is judged.

use std::cmp::Reverse;

use run_format::Site;

use super::markdown::{self, Frame, Row, table};
use crate::measure::{Metric, MetricKey, Place};
use crate::options::Options;
use crate::prose::{self, prose};
use crate::summary::{CellSummary, Summary};
use crate::text::{count, joined, number};

/// Says how many cells have more than one slow poll in a hundred, and which is the worst. The first line is about all cells,
/// and each other one about a payload.
pub(crate) fn sentences(summary: &Summary, site: Site, variant: usize) -> Vec<String> {
    let key = MetricKey::new(site, Metric::SlowPercent);
    let share = |cell: &&CellSummary| cell.value(key, variant);
    let in_words = |cells: Vec<&CellSummary>| {
        let over = cells.iter().filter(|cell| share(cell) > Some(1.0)).count();
        let values = cells.iter().filter_map(|cell| Some((cell, share(cell)?)));
        let (worst, percent) = values.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let (cells, percent) = (count(cells.len(), "cell"), number(percent));
        Some(format!(
            "over 1 % in {over} of {cells}; the worst is {} with {percent} %.",
            worst.measured.cell
        ))
    };
    let measured = || summary.measured().filter(|cell| share(cell).is_some());
    let about_all = in_words(measured().collect());
    let all =
        about_all.map(|words| format!("Slow polls of `{}` are {words}", summary.function(site)));
    let payloads = summary.axes.payload_bytes.iter().filter_map(|payload| {
        let cells = measured().filter(|cell| cell.measured.cell.payload_bytes == *payload);
        Some(format!(
            "{}: {}",
            payload.in_words(),
            in_words(cells.collect())?
        ))
    });
    all.into_iter().chain(payloads).collect()
}

pub(crate) fn text(summary: &Summary, frame: Frame) -> String {
    let title = format!("Slow polls in a published table: {}", summary.identity.name);
    let sites = &summary.identity.sites;
    let text = prose::text(&prose!("published.txt" {
        source: String = summary.identity.line(),
        cells: String = table(cells(summary, frame.options, &["value"])),
    }));
    markdown::report("published", &title, sites, frame, [Some(text)])
}

/// The figures of every cell, under variants with these names. A metric that no cell has gets no column.
pub(super) fn cells(summary: &Summary, options: &Options, variants: &[&str]) -> Vec<Row> {
    const MOST_ROWS: usize = 300;
    let metrics = Metric::shown_in(Place::Published);
    let keys = MetricKey::all(&options.sites()).into_iter();
    let wanted: Vec<MetricKey> = keys
        .filter(|key| metrics.contains(&key.metric) && summary.has(*key))
        .collect();
    let sides = match variants {
        [_] => String::new(),
        _ => format!(", {}", variants.join(" / ")),
    };
    let mut cells: Vec<&CellSummary> = summary.measured().collect();
    let worst = MetricKey::new(summary.first_site(options), Metric::SlowPercent);
    cells.sort_by_key(|cell| Reverse((1e6 * cell.value(worst, 0).unwrap_or(0.0)) as u64));
    let rows = cells.iter().take(MOST_ROWS).map(|cell| {
        let mut row = Row::new("cell", cell.measured.cell);
        for key in &wanted {
            let site = key
                .site
                .map_or_else(String::new, |site| format!(" ({site})"));
            let info = key.metric.info();
            let value = |variant| {
                cell.value(*key, variant)
                    .map_or_else(|| "–".to_owned(), number)
            };
            let values = joined((0..variants.len()).map(value), " / ");
            let title = format!("{}{site}, {}{sides}", info.words, info.unit);
            row = row.with(title, values);
        }
        row
    });
    rows.collect()
}
