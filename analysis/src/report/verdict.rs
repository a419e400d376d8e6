//! The text of `analysis verdict`: a line for each variant, which begins with one of four answers, and tables of reasons.

use std::cmp::Reverse;

use run_format::BASELINE;

use super::effects::emphasised;
use super::markdown::{Row, list, paragraphs, table};
use super::{caveats, disturbances};
use crate::summary::Summary;
use crate::text::{confidence, count, joined, quoted};
use crate::verdict::{Candidate, QuantityChange, Verdict, words};

/// The first line is about the worst variant, so that its answer is that of the whole sweep.
pub(crate) fn text(summary: &Summary, verdict: &Verdict) -> String {
    let mut candidates: Vec<&Candidate> = verdict.candidates.iter().collect();
    candidates.sort_by_key(|candidate| Reverse(candidate.outcome()));
    let baseline = quoted(&summary.variants[BASELINE].label);
    let over = count(verdict.cells, "cell");
    let answer = |candidate: &&Candidate| {
        let (answer, label) = (candidate.outcome().words(), quoted(&candidate.label));
        format!("{answer}: {label} compared with {baseline} over {over}")
    };
    let answers = joined(candidates.iter().map(answer), "\n");
    let control = verdict.control.as_ref();
    let tables = candidates
        .iter()
        .map(|candidate| table(rows(candidate, control)));
    let confidence = confidence(verdict.confidence);
    let mut notes = vec![
        format!("Intervals are in brackets, and have a confidence of {confidence} %."),
        "*Noise* is the difference between two copies of the baseline on this machine.".to_owned(),
    ];
    notes.extend(
        candidates
            .iter()
            .filter_map(|candidate| candidate.worse(words::MOST_WORSE)),
    );
    notes.extend(caveats::incomplete(summary));
    notes.extend(disturbances::warning(summary));
    notes.extend(disturbances::sentences(summary));
    let parts = [answers].into_iter().chain(tables).chain([list(notes)]);
    paragraphs(parts.map(Some))
}

/// The rows of each group of cells if there are several, else those of all cells. The control has the same groups.
fn rows(candidate: &Candidate, control: Option<&Candidate>) -> Vec<Row> {
    let row = |group: Option<usize>, group_words: &str, change: &QuantityChange| {
        let noise = control.and_then(|control| control.change_in(group, change.quantity));
        Row::new(
            "quantity",
            format!("{}{group_words}", change.quantity.words()),
        )
        .with("verdict", change.outcome().words())
        .with(quoted(&candidate.label), emphasised(change))
        .with(
            "noise",
            noise.map_or_else(words::absent, QuantityChange::in_words),
        )
        .with("margin", change.quantity.margin_with_unit())
    };
    if candidate.groups.is_empty() {
        let changes = candidate.changes.iter();
        return changes.map(|change| row(None, "", change)).collect();
    }
    let groups = candidate.groups.iter().enumerate();
    let rows = groups.flat_map(|(index, group)| {
        let words = format!(" ({})", group.words_with_cells());
        let changes = group.changes.iter();
        changes.map(move |change| row(Some(index), &words, change))
    });
    rows.collect()
}
