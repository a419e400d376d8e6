//! The files about explained cells: flamegraphs, traces and tables.

use anyhow::Result;
use run_format::config::ENOUGH_SLOW_SAMPLES;

use super::{
    CellExplained, Explanation, findings,
    flamegraph::{self, FlamegraphText},
    stacks::{self, Folded},
    trace, worst,
};
use crate::{
    options::Options,
    text::{count, number},
};

/// Their folder, below that of the report.
pub(crate) const FOLDER: &str = "explain";

/// A file with its name below [`FOLDER`].
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

/// All files. The same evidence gives the same bytes.
pub(crate) fn of(explanation: &Explanation, options: &Options) -> Result<Vec<File>> {
    let mut files = vec![File {
        name: "findings.csv".to_owned(),
        content: findings::csv(&explanation.findings).into_bytes(),
    }];
    for cell in &explanation.cells {
        let mut add = |what: &str, content: Vec<u8>| {
            let name = format!("{}.{what}", cell.id());
            files.push(File { name, content });
        };
        for flamegraph in flamegraphs(explanation, cell) {
            add(
                &flamegraph.name,
                flamegraph.svg(explanation, cell, options)?,
            );
        }
        let worst = worst::of(&cell.evidence);
        if let Some(content) =
            trace::of(cell.id(), &worst, &explanation.variants, &explanation.sites)?
        {
            add("trace.json", content);
            let table = worst::csv(&worst, &explanation.variants);
            add("worst.csv", table.into_bytes());
        }
    }
    Ok(files)
}

/// A flamegraph of a cell that has samples.
pub(crate) struct CellFlamegraph<'a> {
    /// The name of its file, after the cell's id.
    pub(crate) name: String,
    /// The text of a link to it.
    pub(crate) link: String,
    label: &'a str,
    /// Set if it is about slow polls.
    slow_from_ns: Option<u64>,
    samples: Folded,
    /// The samples of the baseline, if it shows the difference from the baseline.
    before: Option<Folded>,
}

pub(crate) fn flamegraphs<'a>(
    explanation: &'a Explanation,
    cell: &CellExplained,
) -> Vec<CellFlamegraph<'a>> {
    let folded =
        |variant, from_ns| stacks::folded(&cell.evidence, variant, explanation.site, from_ns);
    let mut flamegraphs = Vec::new();
    for (at, (variant, label)) in explanation.variants.iter().enumerate() {
        let (prefix, with) = match at {
            0 => ("", String::new()),
            _ => ("budget-", format!(" with `{label}`")),
        };
        let slow = explanation
            .slow_from_ns
            .map(|from_ns| ("slow", Some(from_ns)));
        for (of, slow_from_ns) in slow.into_iter().chain([("all", None)]) {
            flamegraphs.push(CellFlamegraph {
                name: format!("{prefix}{of}.svg"),
                link: format!("{of} polls{with}"),
                label,
                slow_from_ns,
                samples: folded(*variant, slow_from_ns),
                before: None,
            });
        }
    }
    if let Some((variant, label)) = explanation.other() {
        flamegraphs.push(CellFlamegraph {
            name: "difference.svg".to_owned(),
            link: "the difference".to_owned(),
            label,
            slow_from_ns: None,
            samples: folded(variant, None),
            before: Some(folded(0, None)),
        });
    }
    let has_samples = |folded: &Folded| folded.values().any(|samples| *samples > 0);
    flamegraphs.retain(|it| has_samples(&it.samples) && it.before.as_ref().is_none_or(has_samples));
    flamegraphs
}

impl CellFlamegraph<'_> {
    fn svg(
        &self,
        explanation: &Explanation,
        cell: &CellExplained,
        options: &Options,
    ) -> Result<Vec<u8>> {
        let (of_cell, label) = (cell.evidence.cell, self.label);
        let interval = cell.evidence.seen.stack_interval_ns;
        let how_often = interval.map_or_else(String::new, |ns| {
            format!(", one in {} µs", number(ns as f64 / 1000.0))
        });
        let samples: u64 = self.samples.values().sum();
        let too_few = if samples < ENOUGH_SLOW_SAMPLES {
            " (too few for a claim)"
        } else {
            ""
        };
        let samples = format!("{}{too_few}{how_often}", count(samples as usize, "sample"));
        let (title, subtitle) = match (&self.before, self.slow_from_ns) {
            (Some(_), _) => (
                format!(
                    "What {label} changes from {}: {of_cell}",
                    explanation.label(0)
                ),
                format!(
                    "red: a larger share of poll time than before, without callees; blue: a smaller share; widths are \
                     those of {label}, {samples}"
                ),
            ),
            (None, Some(from_ns)) => (
                format!("Where the time of slow polls goes: {of_cell}, {label}"),
                format!(
                    "{samples}, in polls over {} µs{}",
                    from_ns / 1000,
                    if from_ns == options.threshold {
                        ""
                    } else {
                        " (the nearest recorded band above the threshold)"
                    }
                ),
            ),
            (None, None) => (
                format!("Where the time of polls goes: {of_cell}, {label}"),
                format!("{samples}, in all polls"),
            ),
        };
        let text = FlamegraphText { title, subtitle };
        match &self.before {
            Some(before) => flamegraph::difference(before, &self.samples, &text),
            None => flamegraph::of(&self.samples, &text),
        }
    }
}
