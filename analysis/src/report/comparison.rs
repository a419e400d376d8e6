//! The report that compares two sweeps.

use std::fmt::Debug;

use run_format::manifest::Manifest;

use super::markdown::{Document, Frame, Row, joined, quoted};
use super::{method, published};
use crate::measure::{Metric, MetricKey, Place};
use crate::options::Options;
use crate::stats;
use crate::summary::{Identity, Summary, of_hosts, of_tool, of_upstream};
use crate::text::{count, number};
use crate::verdict::{Verdict, words};

pub(crate) struct Compared {
    pub(crate) budget: String,
    pub(crate) verdict: Verdict,
    pub(crate) summary: Summary,
}

/// The first says what is resolved, or without intervals on one side what each side has.
pub(crate) fn sentences(
    compared: &[Compared],
    sides: [&Summary; 2],
    options: &Options,
) -> Vec<String> {
    if is_published(sides) {
        let summary = compared.first().map(|it| &it.summary);
        let of_side = |(at, side): (usize, &Summary)| {
            let summary = summary?;
            let site = summary.first_site(options);
            let words = published::sentences(summary, site, at);
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
    let parts = joined(parts, "; ");
    vec![format!("After compared with before: {parts}.")]
}

fn is_published(sides: [&Summary; 2]) -> bool {
    sides.iter().any(|it| it.identity.is_published())
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
    let mut document = Document::new("comparison", &title, sites, frame);
    let is_published = is_published([before, after]);
    match compared {
        [only] if is_published => {
            document.heading("Cell by cell");
            published::cells(&mut document, &only.summary, frame.2, &["before", "after"]);
        }
        _ => table(&mut document, compared),
    }
    document.list([
        format!("Before: {}", before.identity.line()),
        format!("After: {}", after.identity.line()),
        format!("Cells in both: {}", before.shared_cells(after)),
    ]);
    let mut cells = compared.iter().flat_map(|it| it.summary.measured());
    if is_published {
        document.paragraph(
            "A published table has no intervals, so no difference between the two sides is resolved, however large it is.",
        );
    } else if after.identity.application.is_some() {
        document.paragraph(
            "**Nothing can be resolved between single runs of an application**, because its load and the machine may have \
             been others.",
        );
    } else if cells.any(|cell| cell.measured.runs < 2) {
        document.paragraph(
            "**Nothing can be resolved in cells that were launched only once on either side**, because launches of one \
             configuration differ by up to ±30 %. `./sweep.sh --repeat 3` on both sides resolves differences there.",
        );
    }
    if !warnings.is_empty() {
        document.paragraph("The two sides also differ in this, which may explain the results:");
        document.list(warnings);
    }
    let command = |side: &Summary| {
        let manifest = side.identity.manifest.as_ref();
        let what = match side.identity.application {
            Some(_) => "an application",
            None => "published",
        };
        let published = || format!("# {}: {what}", side.identity.name);
        manifest.map_or_else(published, method::command)
    };
    document.command(&format!("{}\n{}", command(before), command(after)));
    document.finish()
}

fn table(document: &mut Document, compared: &[Compared]) {
    const MOST_ROWS: usize = 8;
    document.table(compared.iter().take(MOST_ROWS).map(|pair| {
        let row = Row::of("budget", quoted(&pair.budget));
        let metrics = Metric::shown_in(Place::Comparison).into_iter();
        metrics.fold(row, |row, metric| {
            row.with(metric.title(), field(pair, metric))
        })
    }));
    document.paragraph(
        "Means over the cells that both sweeps have, before → after; then the numbers of cells that are resolved to be \
         lower and higher.",
    );
}

fn field(compared: &Compared, metric: Metric) -> String {
    let what = MetricKey::new(compared.verdict.site, metric);
    let pairs = || {
        let cells = compared.summary.measured();
        cells.filter_map(|cell| cell.value(what, 0).zip(cell.value(what, 1)))
    };
    let was = stats::mean(pairs().map(|(was, _)| was));
    let is = stats::mean(pairs().map(|(_, is)| is));
    let Some((was, is)) = was.zip(is) else {
        return words::absent();
    };
    let [lower, higher, _] = compared.summary.resolved(what, 1);
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
        let mut facts = vec![("machine", of_hosts(&identity.hosts))];
        if let Some(Manifest { config, tool, .. }) = &identity.manifest {
            facts.extend([
                ("upstream", of_upstream(tool)),
                ("tool", of_tool(tool)),
                ("compiler", tool.rustc.clone()),
                ("profile", tool.profile.clone()),
                ("nodes", text(&config.node)),
                ("load", method::pace(config.pace)),
                ("runtime", text(&config.runtime)),
                ("lab", text(&config.lab)),
                ("delay", identity.delay()),
            ]);
        }
        facts
    };
    let pairs = facts(before).into_iter().zip(facts(after));
    let differing = pairs.filter(|(was, is)| was != is);
    let in_words = |((what, was), (_, is))| format!("{what}: {was} before, {is} after");
    differing.map(in_words).collect()
}
