//! The report of `--prove`: whether a program with the printed patch at both ends does what the budget does, which takes turns at
//! both ends of the unpatched program.

use run_format::{Ends, SubjectConfig};

use super::markdown::{Row, paragraphs, table};
use crate::measure::MetricKey;
use crate::prose::{self, prose};
use crate::summary::{CONFIDENCE, Summary};
use crate::verdict::{Judged, Verdict};

struct Proof {
    patch_label: String,
    /// The variant of the unpatched program with the budget.
    budget: usize,
    /// The variant of the patched program without a budget.
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
            let bounds = variant.budgets.at_ends(Ends::Central);
            variant.subject == subject
                && variant.budgets.ends == ends
                && bounds.to_string() == label
        })
    };
    let proof = |(at, subject): (usize, &SubjectConfig)| {
        let suffix = subject.label.strip_prefix(&subjects[0].label)?;
        let patch = suffix.strip_prefix('+')?;
        let is_at_both_ends = subject.peers == at;
        let proof = Proof {
            patch_label: patch.to_owned(),
            budget: variant(0, patch, Ends::Both)?,
            patch: variant(at, "none", Ends::Central)?,
        };
        is_at_both_ends.then_some(proof)
    };
    subjects.iter().enumerate().filter_map(proof).collect()
}

/// The number of cells in which the interval of the difference includes zero, and the number of cells with an interval.
fn agreement(summary: &Summary, what: MetricKey, proof: &Proof) -> (usize, usize) {
    let changes = summary.changes(what, [proof.budget, proof.patch]);
    let intervals = changes.iter().filter_map(|change| change.interval());
    let agree: Vec<bool> = intervals.map(|interval| interval.covers(0.0)).collect();
    (agree.iter().filter(|agrees| **agrees).count(), agree.len())
}

pub(super) fn sentences(summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let sentence = |proof: &Proof| {
        let counts = verdict.quantities.iter().map(|(quantity, _)| {
            let what = MetricKey::new(verdict.site, quantity.metric);
            agreement(summary, what, proof)
        });
        let (agree, all) = counts.fold((0, 0), |sum, cells| (sum.0 + cells.0, sum.1 + cells.1));
        prose::text(&prose!('a "prove_in_short.txt" {
            proof: &'a Proof = proof,
            differ: usize = all - agree,
            all: usize = all,
            expected: f64 = (1.0 - CONFIDENCE) * all as f64,
        }))
    };
    proofs(summary).iter().map(sentence).collect()
}

pub(super) fn text(summary: &Summary, verdict: &Verdict) -> String {
    let text = |proof: &Proof| {
        let changes = |from, to| verdict.changes(summary, [from, to], CONFIDENCE);
        let budget = changes(0, proof.budget);
        let (patch, between) = (changes(0, proof.patch), changes(proof.budget, proof.patch));
        let rows = budget.iter().map(|judged| {
            let same = |other: &&Judged| other.quantity.metric == judged.quantity.metric;
            let change = |all: &[Judged]| all.iter().find(same).map(Judged::change);
            let what = MetricKey::new(verdict.site, judged.quantity.metric);
            let (agree, all) = agreement(summary, what, proof);
            Row::new("quantity", judged.quantity.words)
                .with("budget", judged.change())
                .with_any("patch", change(&patch))
                .with_any("patch compared with budget", change(&between))
                .with("cells that agree", format!("{agree} of {all}"))
        });
        Some(prose::text(&prose!('a "prove.txt" {
            proof: &'a Proof = proof,
            table: String = table(rows),
        })))
    };
    paragraphs(proofs(summary).iter().map(text))
}
