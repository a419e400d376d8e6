//! The files about explained cells: flamegraphs, traces and tables.

use anyhow::Result;
use run_format::config::ENOUGH_SLOW_SAMPLES;

use super::{
    Explanation, findings,
    flamegraph::{self, FlamegraphText},
    stacks::{self, Folded},
    trace, worst,
};
use crate::{
    load::explain::CellExplained,
    text::{count, number},
};

pub(crate) const FOLDER: &str = "explain";

pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

pub(crate) fn of(explanation: &Explanation) -> Result<Vec<File>> {
    let mut files = vec![File {
        name: format!("{FOLDER}/findings.csv"),
        content: findings::csv(&explanation.findings)?,
    }];
    for cell in &explanation.cells {
        let mut add = |what: &str, content: Vec<u8>| {
            let name = format!("{FOLDER}/{}.{what}", cell.id());
            files.push(File { name, content });
        };
        for flamegraph in flamegraphs(explanation, cell) {
            add(&flamegraph.name, flamegraph.svg()?);
        }
        let worst = worst::of(&cell.evidence);
        if let Some(content) =
            trace::of(cell.id(), &worst, &explanation.variants, &explanation.sites)?
        {
            add("trace.json", content);
            add("worst.csv", worst::csv(&worst, &explanation.variants)?);
        }
    }
    Ok(files)
}

pub(crate) struct CellFlamegraph {
    /// The name of its file, after the cell's id.
    pub(crate) name: String,
    /// The text of a link to it.
    pub(crate) link: String,
    text: FlamegraphText,
    samples: Folded,
    /// The samples of the baseline, if it shows the difference from the baseline.
    before: Option<Folded>,
}

pub(crate) fn flamegraphs(explanation: &Explanation, cell: &CellExplained) -> Vec<CellFlamegraph> {
    let folded =
        |variant, from_ns| stacks::folded(&cell.evidence, variant, explanation.site, from_ns);
    let of_cell = cell.evidence.cell;
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
            let samples = folded(*variant, slow_from_ns);
            let (what, polls) = match slow_from_ns {
                Some(from_ns) => ("slow polls", format!("polls over {} µs", from_ns / 1000)),
                None => ("polls", "all polls".to_owned()),
            };
            flamegraphs.push(CellFlamegraph {
                name: format!("{prefix}{of}.svg"),
                link: format!("{of} polls{with}"),
                text: FlamegraphText {
                    title: format!("Where the time of {what} goes: {of_cell}, {label}"),
                    subtitle: format!("{}, in {polls}", how_many(cell, &samples)),
                },
                samples,
                before: None,
            });
        }
    }
    if let Some((variant, label)) = explanation.other() {
        let samples = folded(variant, None);
        flamegraphs.push(CellFlamegraph {
            name: "difference.svg".to_owned(),
            link: "the difference".to_owned(),
            text: FlamegraphText {
                title: format!("What {label} changes from {}: {of_cell}", explanation.label(0)),
                subtitle: format!(
                    "red: a larger share of poll time than before, without callees; blue: a smaller share; widths are \
                     those of {label}, {}",
                    how_many(cell, &samples)
                ),
            },
            samples,
            before: Some(folded(0, None)),
        });
    }
    let has_samples = |folded: &Folded| folded.values().any(|samples| *samples > 0);
    flamegraphs.retain(|it| has_samples(&it.samples) && it.before.as_ref().is_none_or(has_samples));
    flamegraphs
}

/// "600 samples, one in 100 µs"
fn how_many(cell: &CellExplained, samples: &Folded) -> String {
    let interval = cell.evidence.seen.stack_interval_ns;
    let how_often = interval.map_or_else(String::new, |ns| {
        format!(", one in {} µs", number(ns as f64 / 1000.0))
    });
    let samples: u64 = samples.values().sum();
    let too_few = if samples < ENOUGH_SLOW_SAMPLES {
        " (too few for a claim)"
    } else {
        ""
    };
    format!("{}{too_few}{how_often}", count(samples as usize, "sample"))
}

impl CellFlamegraph {
    fn svg(&self) -> Result<Vec<u8>> {
        match &self.before {
            Some(before) => flamegraph::difference(before, &self.samples, &self.text),
            None => flamegraph::of(&self.samples, &self.text),
        }
    }
}
