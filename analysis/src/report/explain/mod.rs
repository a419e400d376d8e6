//! Why the worst cells are slow, according to the evidence.

mod details;
mod in_short;
mod subjects;

use std::collections::{BTreeMap, BTreeSet};

use run_format::Site;
use run_format::tables::Pass;

use super::markdown::{Document, joined, joined_any, quoted};
use crate::explain::Explanation;
use crate::explain::files::FOLDER;
use crate::explain::stacks::given_interval_ns;
use crate::explain::thresholds::RARER_SAMPLES;
use crate::load::{CellEvidence, CellExplained, name_in_files};
use crate::text::number;

/// The details of at most `detailed` cells are written.
pub(super) fn write(document: &mut Document, explanation: &Explanation, detailed: usize) {
    document.heading("Why it is slow");
    if !explanation.cells.is_empty() {
        document.paragraph(
            "The worst cells were launched again to collect evidence: stacks, allocations, counters, system calls and a \
             timeline. Each kind of evidence has its own slices (a *pass*). The other figures of this report come from the \
             first launches.",
        );
        if explanation.has_subjects() {
            document.paragraph(format!(
                "In these launches the programs ran one after the other, each alone. The speed of a machine changes meanwhile, \
                 so do not compare times of different programs here. Shares of time and counts per request can be compared. \
                 What names no program is about {}.",
                quoted(&explanation.variants[0].label)
            ));
        }
        findings(document, explanation);
    }
    for (at, cell) in explanation.cells.iter().enumerate() {
        let section = Section {
            explanation,
            cell,
            evidence: cell.evidence(),
            site: explanation.site,
            function: explanation.sites.function(explanation.site),
            link_base: document.link_base.clone(),
        };
        let of_cell = cell.evidence().cell;
        let sentences = joined(section.sentences(), " ");
        document.paragraph(format!("**{of_cell}** {sentences}"));
        section.frames(document);
        if explanation.has_subjects() {
            section.side_by_side(document);
            section.per_request(document);
        }
        if at < detailed {
            document.details(&format!("The evidence of {of_cell}"), |document| {
                section.allocations(document);
                section.counters(document);
                section.system_calls(document);
                section.worst(document);
            });
        }
    }
    document.list(caveats(explanation));
}

fn findings(document: &mut Document, explanation: &Explanation) {
    const MOST_FINDINGS: usize = 6;
    let needed = [Pass::SystemCalls, Pass::Allocations, Pass::Activity].into_iter();
    let cells = explanation.cells.iter();
    let launches = cells.flat_map(|cell| cell.launches.values());
    let unseen = needed.filter(|pass| launches.clone().any(|it| !it.has(*pass)));
    let unseen = joined_any(unseen.map(quoted), " and ").map_or_else(String::new, |names| {
        format!(" Some cells have no evidence of {names}, so the search is incomplete.")
    });
    let found = &explanation.findings;
    if found.is_empty() {
        document.paragraph(format!(
            "**Needless work**: none was found. The search is for polls that wait, polls that allocate excessively, \
             tasks that keep waking themselves, dials to connected peers, and values that only grow.{unseen}"
        ));
        return;
    }
    let file = format!("{}{FOLDER}/findings.csv", document.link_base);
    document.paragraph(format!(
        "**Needless work** ([{} found]({file})), the most severe first:{unseen}",
        found.len()
    ));
    document.list(found.iter().take(MOST_FINDINGS).map(|finding| {
        let kind = name_in_files(finding.kind);
        format!("**{kind}** (`{}`): {}", finding.cell, finding.sentence)
    }));
}

fn caveats(explanation: &Explanation) -> Vec<String> {
    let mut lines = explanation.flaws.clone();
    // Evidence is usually unavailable in all cells, so each reason is written once.
    let mut unavailable: BTreeMap<(String, &str), BTreeSet<&str>> = BTreeMap::new();
    let cells = explanation.cells.iter();
    for evidence in cells.flat_map(|cell| cell.launches.values()) {
        let (seen, name) = (&evidence.seen, &evidence.name);
        for it in &seen.unavailable {
            let reason = (it.pass.to_string(), &*it.why);
            unavailable.entry(reason).or_default().insert(&it.what);
        }
        lines.extend(rarer_samples(explanation, evidence));
        let stacks = seen.allocation_stacks_lost.filter(|lost| *lost > 0);
        let lost = evidence.lost().into_iter();
        let lost = lost.map(|(what, percent)| format!("{} % of {what}", number(percent)));
        let lost = lost.chain(stacks.map(|lost| format!("{lost} stacks of allocations")));
        lines.extend(lost.map(|what| format!("{name}: {what} were lost.")));
    }
    lines.extend(unavailable.into_iter().map(|((evidence, why), what)| {
        format!("Not recorded ({evidence}): {}: {why}.", joined(what, ", "))
    }));
    lines
}

fn rarer_samples(explanation: &Explanation, evidence: &CellEvidence) -> Option<String> {
    let asked_ns = evidence.seen.stack_interval_ns? as f64;
    let given_ns = given_interval_ns(evidence, explanation.site)?;
    let [given, asked] = [given_ns, asked_ns].map(|ns| number(ns / 1000.0));
    (given_ns > RARER_SAMPLES * asked_ns).then(|| {
        format!(
            "{}: this machine gave one sample of the stack in {given} µs of polls, where one in {asked} µs was asked \
             for. Shares of time hold, from fewer samples.",
            evidence.name
        )
    })
}

const MOST_ROWS: usize = 10;

struct Section<'a> {
    explanation: &'a Explanation,
    cell: &'a CellExplained,
    evidence: &'a CellEvidence,
    site: Site,
    function: &'a str,
    link_base: String,
}

impl Section<'_> {
    fn link(&self, what: &str) -> String {
        format!("{}{FOLDER}/{}.{what}", self.link_base, self.cell.id())
    }

    /// The values of the baseline, then of what is compared with it and was launched.
    fn by_variant<T>(&self, value: impl Fn(&CellEvidence, usize) -> T) -> Vec<(String, T)> {
        let variants = self.explanation.variants.iter();
        let values = variants.filter_map(|it| {
            let evidence = self.cell.launches.get(&it.subject)?;
            Some((quoted(&it.label), value(evidence, it.variant)))
        });
        values.collect()
    }

    /// What figures of the baseline alone are about.
    fn of_baseline(&self) -> String {
        match self.explanation.has_subjects() {
            true => format!("of {}", quoted(&self.explanation.variants[0].label)),
            false => "without a budget".to_owned(),
        }
    }
}
