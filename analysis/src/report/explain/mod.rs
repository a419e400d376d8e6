//! Why it is slow: what the evidence of the worst cells says.

mod details;
mod in_short;

use std::collections::{BTreeMap, BTreeSet};

use super::markdown::{Document, Links};
use crate::{
    explain::{CellExplained, Explanation, lost::lost},
    load::explain::cell::Pass,
    text::number,
};

/// Rows of a table that is there to be read, not to be complete.
const MOST_ROWS: usize = 10;

/// With the details of at most so many cells.
pub(super) fn write(
    document: &mut Document,
    explanation: &Explanation,
    links: &Links,
    detailed: usize,
) {
    document.heading("Why it is slow");
    findings(document, explanation, links);
    for (at, cell) in explanation.cells.iter().enumerate() {
        let section = Section {
            explanation,
            cell,
            links,
        };
        section.write(document, at < detailed);
    }
    caveats(document, explanation);
}

fn findings(document: &mut Document, explanation: &Explanation, links: &Links) {
    const MOST_FINDINGS: usize = 6;
    if explanation.cells.is_empty() {
        return;
    }
    let file = links.explain("findings.csv");
    let unseen = unseen(explanation);
    if explanation.findings.is_empty() {
        document.paragraph(&format!(
            "No needless work was found (polls that wait or allocate without bound, tasks that keep waking themselves, \
             dials to peers that are connected, whatever only grows).{unseen}"
        ));
        return;
    }
    document.paragraph(&format!(
        "**Needless work** ([{} found]({file})), the most severe first:{unseen}",
        explanation.findings.len()
    ));
    let shown = explanation.findings.iter().take(MOST_FINDINGS);
    document
        .list(shown.map(|it| format!("**{}** (`{}`): {}", it.kind.name(), it.cell, it.sentence)));
}

/// Where nothing was seen, nothing can have been found.
fn unseen(explanation: &Explanation) -> String {
    let seen = [Pass::SystemCalls, Pass::Allocations, Pass::Activity];
    let is_unseen = |pass: &Pass| {
        let mut cells = explanation.cells.iter();
        cells.any(|cell| !cell.evidence.has(*pass))
    };
    let names: Vec<String> = seen
        .into_iter()
        .filter(is_unseen)
        .map(|pass| format!("`{}`", pass.name()))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    format!(
        " What shows in {} only was not looked for in every cell.",
        names.join(" and ")
    )
}

fn caveats(document: &mut Document, explanation: &Explanation) {
    let mut lines = explanation.flaws.clone();
    // What is unavailable is so in all cells, as a rule, and is said once.
    let mut unavailable: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for cell in &explanation.cells {
        let seen = &cell.evidence.seen;
        for it in &seen.unavailable {
            let reason = (&*it.evidence, &*it.why);
            unavailable.entry(reason).or_default().insert(&it.what);
        }
        for (what, percent) in lost(&cell.evidence) {
            lines.push(format!(
                "`{}`: {} % of {what} were lost.",
                cell.id(),
                number(percent)
            ));
        }
        if let Some(lost) = seen.allocation_stacks_lost.filter(|lost| *lost > 0) {
            lines.push(format!(
                "`{}`: {lost} stacks of allocations were lost.",
                cell.id()
            ));
        }
    }
    lines.extend(unavailable.into_iter().map(|((evidence, why), what)| {
        let what: Vec<&str> = what.into_iter().collect();
        format!("Not seen ({evidence}): {}: {why}.", what.join(", "))
    }));
    if !lines.is_empty() {
        document.list(lines);
    }
}

/// What is said of one cell.
struct Section<'a> {
    explanation: &'a Explanation,
    cell: &'a CellExplained,
    links: &'a Links,
}

impl Section<'_> {
    fn write(&self, document: &mut Document, detailed: bool) {
        document.paragraph(&format!(
            "**{}** {}",
            self.cell.evidence.cell,
            self.sentences().join(" ")
        ));
        self.frames(document);
        if detailed {
            document.details(
                &format!("The evidence of {}", self.cell.evidence.cell),
                |document| {
                    self.agreement(document);
                    self.allocations(document);
                    self.counters(document);
                    self.system_calls(document);
                    self.worst(document);
                },
            );
        }
    }

    fn link(&self, what: &str) -> String {
        self.links.explain(&format!("{}.{what}", self.cell.id()))
    }

    /// Header and cells of a table with the baseline's figures beside the other's.
    fn labels(&self) -> Vec<String> {
        let labels = self.explanation.variants.iter();
        labels.map(|(_, label)| format!("`{label}`")).collect()
    }
}

fn table(document: &mut Document, head: &[String], rows: &[Vec<String>]) {
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    document.table(&head, rows);
}
