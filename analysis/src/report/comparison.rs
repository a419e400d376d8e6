//! The reports of `compare` and of `published`. `compare` reports on two sweeps, or on an application and the cells of a lab that
//! resemble it. A published table has a figure per cell and no intervals, so nothing in it is judged.

use std::cmp::Reverse;
use std::fmt::Debug;

use run_format::{BASELINE, Budgets, Manifest, Site};

use super::markdown::{self, Frame, Row, joined, quoted, table};
use super::{changes, method};
use crate::in_grid::{InGrid, TOO_FAR};
use crate::measure::{Metric, MetricKey, Place};
use crate::options::Options;
use crate::prose::{self, prose};
use crate::stats;
use crate::summary::{CellSummary, Identity, Summary, of_hosts, of_tool, of_upstream};
use crate::text::{count, number};
use crate::verdict::{Candidate, Verdict, words};

pub(crate) struct Compared {
    pub(crate) budget: String,
    pub(crate) verdict: Verdict,
    pub(crate) summary: Summary,
}

/// Says in how many cells the time beyond the threshold is resolved to differ. If a side has no intervals, there is a sentence
/// about each side instead.
pub(crate) fn sentences(
    compared: &[Compared],
    sides: [&Summary; 2],
    options: &Options,
) -> Vec<String> {
    if is_published(sides) {
        let summary = &compared[0].summary;
        let of_side = |(variant, side): (usize, &Summary)| {
            let words = of_published(summary, summary.first_site(options), variant);
            Some(format!("{}: {}", side.identity.name, words.first()?))
        };
        return sides.into_iter().enumerate().filter_map(of_side).collect();
    }
    let parts = compared.iter().map(|pair| {
        let beyond = MetricKey::new(pair.verdict.site, Metric::BeyondMsPerS);
        let [lower, higher, _] = pair.summary.resolved(beyond, 1);
        let (budget, function) = (&pair.budget, pair.summary.function(pair.verdict.site));
        let cells = count(pair.summary.measured().count(), "cell");
        format!(
            "with budget `{budget}`, the time beyond the threshold of `{function}` is resolved to be lower in {lower} and \
             higher in {higher} of {cells}"
        )
    });
    let joined_parts = joined(parts, "; ");
    vec![format!("After compared with before: {joined_parts}.")]
}

fn is_published(sides: [&Summary; 2]) -> bool {
    sides.iter().any(|side| side.identity.is_published())
}

pub(crate) fn text(
    title: &str,
    [before, after]: [&Summary; 2],
    compared: &[Compared],
    warnings: &[String],
    frame: Frame,
) -> String {
    let title = format!("Poll latency: {title}");
    let sites = &after.identity.sites;
    let is_published = is_published([before, after]);
    let only = compared
        .first()
        .filter(|_| is_published && compared.len() == 1);
    let cells_of =
        |only: &Compared| table(cells(&only.summary, frame.options, &["before", "after"]));
    let mut cells = compared.iter().flat_map(|pair| pair.summary.measured());
    let text = prose::text(&prose!('a "comparison.txt" {
        published_cells: Option<String> = only.map(cells_of),
        table: String = table(rows(compared)),
        sides: [&'a Summary; 2] = [before, after],
        is_published: bool = is_published,
        has_single_launches: bool = cells.any(|cell| cell.measured.runs < 2),
        warnings: &'a [String] = warnings,
    }));
    markdown::report("comparison", &title, sites, frame, [Some(text)])
}

fn rows(compared: &[Compared]) -> impl Iterator<Item = Row> {
    const MOST_ROWS: usize = 8;
    compared.iter().take(MOST_ROWS).map(|pair| {
        let row = Row::new("budget", quoted(&pair.budget));
        let metrics = Metric::shown_in(Place::Comparison).into_iter();
        metrics.fold(row, |row, metric| {
            row.with(metric.title(), field(pair, metric))
        })
    })
}

fn field(compared: &Compared, metric: Metric) -> String {
    let key = MetricKey::new(compared.verdict.site, metric);
    let pairs = || {
        let cells = compared.summary.measured();
        cells.filter_map(|cell| cell.value(key, 0).zip(cell.value(key, 1)))
    };
    let was = stats::mean(pairs().map(|(was, _)| was));
    let is = stats::mean(pairs().map(|(_, is)| is));
    let Some((was, is)) = was.zip(is) else {
        return words::absent();
    };
    let [lower, higher, _] = compared.summary.resolved(key, 1);
    let (was, is) = (number(was), number(is));
    format!("{was} → {is}; {lower} lower, {higher} higher")
}

pub(crate) fn warnings(before: &Identity, after: &Identity) -> Vec<String> {
    if before.is_published() || after.is_published() {
        let published = "one side is a published table: another machine, another tool, another time, and one run per \
                         cell";
        return vec![published.to_owned()];
    }
    let facts = |identity: &Identity| {
        let text = |value: &dyn Debug| format!("{value:?}").replace('"', "");
        let mut named = vec![("machine", of_hosts(&identity.hosts))];
        if let Some(Manifest { config, tool, .. }) = &identity.manifest {
            named.extend([
                ("upstream", of_upstream(tool)),
                ("tool", of_tool(tool)),
                ("compiler", tool.rustc.clone()),
                ("profile", tool.profile.clone()),
                ("nodes", text(&config.node)),
                ("load", method::pace(config)),
                ("runtime", text(&config.runtime)),
                ("lab", text(&config.lab)),
                ("delay", identity.delay()),
            ]);
        }
        named
    };
    let pairs = facts(before).into_iter().zip(facts(after));
    let differing = pairs.filter(|(was, is)| was != is);
    let in_words = |((fact, was), (_, is))| format!("{fact}: {was} before, {is} after");
    differing.map(in_words).collect()
}

/// The lab's candidates that have the budgets of the application.
pub(crate) fn shared<'a>(
    place: &InGrid,
    verdict: &'a Verdict,
    budgets: &[Budgets],
) -> Vec<&'a Candidate> {
    let variants = &place.lab.variants;
    let candidates = verdict.candidates.iter();
    let shared = candidates.filter(|candidate| {
        let variant = &variants[candidate.variant];
        variant.subject == 0 && budgets.contains(&variant.budgets)
    });
    shared.collect()
}

pub(crate) fn sentences_in_grid(place: &InGrid, shared: &[&Candidate]) -> Vec<String> {
    let with_factors = place.lab.cells.iter().zip(&place.factors);
    let cells = with_factors.map(|(cell, factor)| format!("{} ({factor:.2})", cell.measured.cell));
    prose::sentences(&prose!('a "in_grid_in_short.txt" {
        place: &'a InGrid = place,
        is_near: bool = place.factors[0] < TOO_FAR,
        cells: Vec<String> = cells.collect(),
        has_shared: bool = !shared.is_empty(),
    }))
}

pub(crate) fn text_in_grid(
    title: &str,
    place: &InGrid,
    verdict: &Verdict,
    shared: &[&Candidate],
    frame: Frame,
) -> String {
    let sites = &place.application.identity.sites;
    let levels = place.cells().map(|cell| {
        let row = Row::new("cell", cell.measured.cell);
        let metrics = Metric::shown_in(Place::Comparison).into_iter();
        metrics.fold(row, |row, metric| {
            let value = cell.value(MetricKey::new(place.site, metric), BASELINE);
            row.with_any(metric.title(), value.map(number))
        })
    });
    let text = prose::text(&prose!('a "in_grid.txt" {
        place: &'a InGrid = place,
        levels: String = table(levels),
        changes: String = table(changes("budget", verdict, shared.iter().copied())),
    }));
    markdown::report("in-grid", title, sites, frame, [Some(text)])
}

/// Says how many cells have more than one slow poll in a hundred, and which is the worst. The first line is about all cells,
/// and each other one about a payload.
pub(crate) fn of_published(summary: &Summary, site: Site, variant: usize) -> Vec<String> {
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

pub(crate) fn text_of_published(summary: &Summary, frame: Frame) -> String {
    let title = format!("Slow polls in a published table: {}", summary.identity.name);
    let sites = &summary.identity.sites;
    let text = prose::text(&prose!("published.txt" {
        source: String = summary.identity.line(),
        cells: String = table(cells(summary, frame.options, &["value"])),
    }));
    markdown::report("published", &title, sites, frame, [Some(text)])
}

/// The figures of every cell, under variants with these names. A metric that no cell has gets no column.
fn cells(summary: &Summary, options: &Options, variants: &[&str]) -> Vec<Row> {
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
