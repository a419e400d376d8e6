//! The report of `compare` on two sweeps.

use std::fmt::Debug;

use run_format::{BASELINE, Manifest};

use super::markdown::{self, Frame, Row, table};
use super::method;
use crate::metrics::{Metric, MetricKey, ReportPart};
use crate::prose::{self, prose};
use crate::report_kind::ReportKind;
use crate::stats;
use crate::summary::between::AFTER;
use crate::summary::{Identity, ResolvedCells, Summary, host_words, tool_words, upstream_words};
use crate::text::{count, joined, number, quoted};
use crate::verdict::{Verdict, words};

pub(crate) struct Compared {
    pub(crate) budget: String,
    pub(crate) verdict: Verdict,
    pub(crate) summary: Summary,
}

/// Says in how many cells the time beyond the threshold is resolved to differ.
pub(crate) fn sentence(compared: &[Compared]) -> String {
    let parts = compared.iter().map(|pair| {
        let beyond = MetricKey::new(pair.verdict.site, Metric::BeyondMsPerS);
        let ResolvedCells { lower, higher } = pair.summary.resolved(beyond, AFTER);
        let (budget, function) = (&pair.budget, pair.summary.function(pair.verdict.site));
        let cells = count(pair.summary.measured_cells().count(), "cell");
        format!(
            "with budget `{budget}`, the time beyond the threshold of `{function}` is resolved to be lower in {lower} and \
             higher in {higher} of {cells}"
        )
    });
    let joined_parts = joined(parts, "; ");
    format!("After compared with before: {joined_parts}.")
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
    let mut cells = compared
        .iter()
        .flat_map(|pair| pair.summary.measured_cells());
    let text = prose::text(&prose!('a "comparison.txt" {
        table: String = table(rows(compared)),
        sides: [&'a Summary; 2] = [before, after],
        has_single_launches: bool = cells.any(|cell| cell.data.has_single_launch()),
        warnings: &'a [String] = warnings,
    }));
    markdown::report(ReportKind::Comparison, &title, sites, frame, [Some(text)])
}

fn rows(compared: &[Compared]) -> impl Iterator<Item = Row> {
    const MOST_ROWS: usize = 8;
    compared.iter().take(MOST_ROWS).map(|pair| {
        let row = Row::new("budget", quoted(&pair.budget));
        let metrics = Metric::shown_in(ReportPart::Comparison).into_iter();
        metrics.fold(row, |row, metric| {
            row.with(metric.title(), field(pair, metric))
        })
    })
}

fn field(compared: &Compared, metric: Metric) -> String {
    let key = MetricKey::new(compared.verdict.site, metric);
    let pairs = || {
        let cells = compared.summary.measured_cells();
        cells.filter_map(|cell| cell.value(key, BASELINE).zip(cell.value(key, AFTER)))
    };
    let before = stats::mean(pairs().map(|(before, _)| before));
    let after = stats::mean(pairs().map(|(_, after)| after));
    let Some(means) = before.zip(after) else {
        return words::absent();
    };
    let ResolvedCells { lower, higher } = compared.summary.resolved(key, AFTER);
    let (before, after) = (number(means.0), number(means.1));
    format!("{before} → {after}; {lower} lower, {higher} higher")
}

pub(crate) fn warnings(before: &Identity, after: &Identity) -> Vec<String> {
    let facts = |identity: &Identity| {
        let text = |value: &dyn Debug| format!("{value:?}").replace('"', "");
        let mut named = vec![("machine", host_words(&identity.hosts))];
        if let Some(Manifest { config, tool, .. }) = &identity.manifest {
            named.extend([
                ("upstream", upstream_words(tool)),
                ("tool", tool_words(tool)),
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
    let differing = pairs.filter(|(before, after)| before != after);
    let in_words = |((fact, before), (_, after))| format!("{fact}: {before} before, {after} after");
    differing.map(in_words).collect()
}
