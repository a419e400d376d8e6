//! Why the worst cells are slow, according to the evidence.

mod details;
mod in_short;
mod subjects;

use std::collections::{BTreeMap, BTreeSet};

use run_format::Site;
use run_format::tables::Pass;

use super::markdown::{Document, quoted};
use crate::explain::Explanation;
use crate::explain::files::FOLDER;
use crate::explain::findings::WorkFinding;
use crate::explain::stacks::given_interval_ns;
use crate::explain::thresholds::RARER_SAMPLES;
use crate::load::{CellEvidence, CellExplained};
use crate::prose::prose;
use crate::text::{joined, number};

/// The details of at most `detailed` cells are written.
pub(super) fn write(document: &mut Document, explanation: &Explanation, detailed: usize) {
    const MOST_FINDINGS: usize = 6;
    let needed = [Pass::SystemCalls, Pass::Allocations, Pass::Activity].into_iter();
    let launches = || {
        explanation
            .cells
            .iter()
            .flat_map(|cell| cell.launches.values())
    };
    let unseen = needed.filter(|pass| launches().any(|it| !it.has(*pass)));
    document.prose(&prose!('a "explain.txt" {
        explanation: &'a Explanation = explanation,
        link_base: String = document.link_base.clone(),
        unseen: Vec<String> = unseen.map(quoted).collect(),
        findings: Vec<&'a WorkFinding> = explanation.findings.iter().take(MOST_FINDINGS).collect(),
    }));
    for (at, cell) in explanation.cells.iter().enumerate() {
        let section = Section {
            explanation,
            cell,
            evidence: cell.evidence(),
            site: explanation.site,
            function: explanation.sites.function(explanation.site),
            link_base: document.link_base.clone(),
        };
        section.in_short(document);
        section.frames(document);
        if explanation.has_subjects() {
            section.side_by_side(document);
            section.per_request(document);
        }
        if at < detailed {
            section.details(document);
        }
    }
    caveats(document, explanation);
}

fn caveats(document: &mut Document, explanation: &Explanation) {
    let launches = || {
        explanation
            .cells
            .iter()
            .flat_map(|cell| cell.launches.values())
    };
    // Evidence is usually unavailable in all cells, so each reason is written once.
    let mut unavailable: BTreeMap<(String, &str), BTreeSet<&str>> = BTreeMap::new();
    for it in launches().flat_map(|evidence| &evidence.seen.unavailable) {
        let reason = (it.pass.to_string(), &*it.why);
        unavailable.entry(reason).or_default().insert(&it.what);
    }
    let of_launch = |evidence: &'_ CellEvidence| {
        let stacks = evidence
            .seen
            .allocation_stacks_lost
            .filter(|lost| *lost > 0);
        let lost = evidence.lost().into_iter();
        let lost = lost.map(|(what, percent)| format!("{} % of {what}", number(percent)));
        let lost = lost.chain(stacks.map(|lost| format!("{lost} stacks of allocations")));
        let rarer = rarer_samples(explanation, evidence);
        (evidence.name.clone(), rarer, lost.collect())
    };
    let listed = |(reason, what): (_, BTreeSet<&str>)| (reason, joined(what, ", "));
    document.prose(&prose!('a "explain_caveats.txt" {
        explanation: &'a Explanation = explanation,
        launches: Vec<(String, Option<(f64, f64)>, Vec<String>)> = launches().map(of_launch).collect(),
        unavailable: Vec<((String, &'a str), String)> = unavailable.into_iter().map(listed).collect(),
    }));
}

/// The µs of polls in which there is a sample of the stack, and in which one was asked for.
fn rarer_samples(explanation: &Explanation, evidence: &CellEvidence) -> Option<(f64, f64)> {
    let asked_ns = evidence.seen.stack_interval_ns? as f64;
    let given_ns = given_interval_ns(evidence, explanation.site)?;
    (given_ns > RARER_SAMPLES * asked_ns).then_some((given_ns / 1000.0, asked_ns / 1000.0))
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
