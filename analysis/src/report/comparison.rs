//! The report that compares two sweeps.

use std::fmt::Debug;

use run_format::manifest::Manifest;

use super::markdown::{Document, Frame, Row, joined, quoted, table};
use super::{method, published};
use crate::measure::{Metric, MetricKey, Place};
use crate::options::Options;
use crate::prose::prose;
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
    let published_cells = match compared {
        [only] if is_published => {
            let cells = published::cells(&only.summary, frame.2, &["before", "after"]);
            Some(table(cells))
        }
        _ => None,
    };
    let mut cells = compared.iter().flat_map(|it| it.summary.measured());
    document.prose(&prose!('a "comparison.txt" {
        published_cells: Option<String> = published_cells,
        table: String = table(rows(compared)),
        before: &'a Summary = before,
        after: &'a Summary = after,
        is_published: bool = is_published,
        has_single_launches: bool = cells.any(|cell| cell.measured.runs < 2),
        warnings: &'a [String] = warnings,
    }));
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

fn rows(compared: &[Compared]) -> impl Iterator<Item = Row> {
    const MOST_ROWS: usize = 8;
    compared.iter().take(MOST_ROWS).map(|pair| {
        let row = Row::of("budget", quoted(&pair.budget));
        let metrics = Metric::shown_in(Place::Comparison).into_iter();
        metrics.fold(row, |row, metric| {
            row.with(metric.title(), field(pair, metric))
        })
    })
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
