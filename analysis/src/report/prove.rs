//! The report of `--prove`: whether a subject with the printed patch at both ends does what the budget does, which takes turns
//! at both ends of the unpatched subject.

use run_format::{BASELINE, Ends, SubjectConfig};

use super::markdown::{Row, paragraphs, table};
use crate::metrics::{MetricKey, Side};
use crate::prose::{self, prose};
use crate::stats::CONFIDENCE;
use crate::summary::Summary;
use crate::verdict::{QuantityChange, Verdict};

struct Proof {
    patch_label: String,
    /// The variant of the unpatched subject with the budget.
    budget: usize,
    /// The variant of the patched subject without a budget.
    patch: usize,
}

/// A subject is a patch of the first one if its label says so: `released+muxer=1`.
fn proofs(summary: &Summary) -> Vec<Proof> {
    let Some(manifest) = &summary.identity.manifest else {
        return Vec::new();
    };
    let subjects = &manifest.config.subjects;
    let variant = |subject: usize, label: &str, ends: Ends| {
        let mut variants = summary.variants.iter();
        variants.position(|variant| {
            let bounds = variant.budgets.with_ends(Ends::Central);
            variant.subject == subject
                && variant.budgets.ends == ends
                && bounds.to_string() == label
        })
    };
    let proof = |(index, subject): (usize, &SubjectConfig)| {
        let suffix = subject.label.strip_prefix(&subjects[0].label)?;
        let patch = suffix.strip_prefix('+')?;
        let is_at_both_ends = subject.peers == index;
        let proof = Proof {
            patch_label: patch.to_owned(),
            budget: variant(0, patch, Ends::Both)?,
            patch: variant(index, "none", Ends::Central)?,
        };
        is_at_both_ends.then_some(proof)
    };
    subjects.iter().enumerate().filter_map(proof).collect()
}

/// Whether the interval of the difference includes zero, for each cell with an interval.
fn agreements(summary: &Summary, key: MetricKey, proof: &Proof) -> Vec<bool> {
    let changes = summary.changes_by_cell(key, Side::Variant(proof.budget), proof.patch);
    let intervals = changes.iter().filter_map(|change| change.interval());
    intervals.map(|interval| interval.covers(0.0)).collect()
}

pub(super) fn sentences(summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let sentence = |proof: &Proof| {
        let cells = verdict.quantities.iter().flat_map(|quantity| {
            let key = MetricKey::new(verdict.site, quantity.metric);
            agreements(summary, key, proof)
        });
        let agreements: Vec<bool> = cells.collect();
        let all = agreements.len();
        prose::text(&prose!('a "prove_in_short.txt" {
            proof: &'a Proof = proof,
            differ: usize = agreements.iter().filter(|agrees| !**agrees).count(),
            all: usize = all,
            expected: f64 = (1.0 - CONFIDENCE) * all as f64,
        }))
    };
    proofs(summary).iter().map(sentence).collect()
}

pub(super) fn text(summary: &Summary, verdict: &Verdict) -> String {
    let text = |proof: &Proof| {
        let changes =
            |from, to| verdict.changes_between(summary, Side::Variant(from), to, CONFIDENCE);
        let budget = changes(BASELINE, proof.budget);
        let (patch, between) = (
            changes(BASELINE, proof.patch),
            changes(proof.budget, proof.patch),
        );
        let rows = budget.iter().map(|change| {
            let same = |other: &&QuantityChange| other.quantity.metric == change.quantity.metric;
            let in_words =
                |all: &[QuantityChange]| all.iter().find(same).map(QuantityChange::in_words);
            let key = MetricKey::new(verdict.site, change.quantity.metric);
            let cells = agreements(summary, key, proof);
            let agree = cells.iter().filter(|agrees| **agrees).count();
            Row::new("quantity", change.quantity.words())
                .with("budget", change.in_words())
                .with_optional("patch", in_words(&patch))
                .with_optional("patch compared with budget", in_words(&between))
                .with("cells that agree", format!("{agree} of {}", cells.len()))
        });
        Some(prose::text(&prose!('a "prove.txt" {
            proof: &'a Proof = proof,
            table: String = table(rows),
        })))
    };
    paragraphs(proofs(summary).iter().map(text))
}
