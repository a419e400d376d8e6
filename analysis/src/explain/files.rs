//! What a report has beside its text: pictures, traces and tables of the cells that were explained.

use anyhow::Result;

use super::{
    CellExplained, Explanation, findings,
    flamegraph::{self, Words},
    stacks::{self, Folded},
    trace, worst,
};
use crate::{options::Options, text::count};

/// Where they are, below the report.
pub(crate) const FOLDER: &str = "explain";

/// A file with its name below [`FOLDER`].
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
}

/// All of them, the same for the same evidence.
pub(crate) fn of(explanation: &Explanation, options: &Options) -> Result<Vec<File>> {
    let mut files = vec![File {
        name: "findings.csv".to_owned(),
        content: findings::csv(&explanation.findings).into_bytes(),
    }];
    for cell in &explanation.cells {
        flamegraphs(&mut files, explanation, cell, options)?;
        let worst = worst::of(&cell.evidence);
        if let Some(content) = trace::of(cell.id(), &worst, &explanation.variants)? {
            files.push(file(cell, "trace.json", content));
            let table = worst::csv(&worst, &explanation.variants);
            files.push(file(cell, "worst.csv", table.into_bytes()));
        }
    }
    Ok(files)
}

fn file(cell: &CellExplained, what: &str, content: Vec<u8>) -> File {
    File {
        name: format!("{}.{what}", cell.id()),
        content,
    }
}

fn flamegraphs(
    files: &mut Vec<File>,
    explanation: &Explanation,
    cell: &CellExplained,
    options: &Options,
) -> Result<()> {
    let of_cell = cell.evidence.cell;
    let folded =
        |variant, from_ns| stacks::folded(&cell.evidence, variant, explanation.site, from_ns);
    let how_often = cell
        .evidence
        .seen
        .stack_interval_ns
        .map_or_else(String::new, |ns| {
            format!(", one in {} µs", crate::text::number(ns / 1000.0))
        });
    let samples = |folded: &Folded| {
        let samples: u64 = folded.values().sum();
        format!("{}{how_often}", count(samples as usize, "sample"))
    };
    for (at, (variant, label)) in explanation.variants.iter().enumerate() {
        // The baseline's have the plain names.
        let of = if at == 0 { "" } else { "budget-" };
        let all = folded(*variant, None);
        let words = Words {
            title: format!("Where the time of polls goes: {of_cell}, {label}"),
            subtitle: format!("{}, in all polls", samples(&all)),
        };
        if let Some(svg) = flamegraph::of(&all, &words)? {
            files.push(file(cell, &format!("{of}all.svg"), svg));
        }
        let Some(from_ns) = explanation.slow_from_ns else {
            continue;
        };
        let slow = folded(*variant, Some(from_ns));
        let words = Words {
            title: format!("Where the time of slow polls goes: {of_cell}, {label}"),
            subtitle: format!(
                "{}, in polls over {} µs{}",
                samples(&slow),
                from_ns / 1000,
                if from_ns == options.threshold {
                    ""
                } else {
                    " (the band above the threshold)"
                }
            ),
        };
        if let Some(svg) = flamegraph::of(&slow, &words)? {
            files.push(file(cell, &format!("{of}slow.svg"), svg));
        }
    }
    if let Some((variant, label)) = explanation.other() {
        let (before, after) = (folded(0, None), folded(variant, None));
        let words = Words {
            title: format!(
                "What {label} changes against {}: {of_cell}",
                explanation.label(0)
            ),
            subtitle: format!(
                "red: by itself a larger share of poll time than before; blue: a smaller one; widths are those of \
                 {label}, {}",
                samples(&after)
            ),
        };
        if let Some(svg) = flamegraph::difference(&before, &after, &words)? {
            files.push(file(cell, "difference.svg", svg));
        }
    }
    Ok(())
}
