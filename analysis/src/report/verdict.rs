//! The text of `analysis verdict`: a line for each variant, which begins with one of four answers, and tables of reasons.

use std::cmp::Reverse;

use run_format::BASELINE;

use super::effects::emphasised;
use super::markdown::{Row, list, paragraphs, quoted, table};
use super::{caveats, trust};
use crate::summary::Summary;
use crate::text::{confidence, count, joined};
use crate::verdict::{Candidate, Judged, Verdict, words};

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
    notes.extend(trust::warning(summary));
    notes.extend(trust::of_machine(summary));
    let parts = [answers].into_iter().chain(tables).chain([list(notes)]);
    paragraphs(parts.map(Some))
}

/// The rows of each group of cells if there are several, else those of all cells. The control has the same groups.
fn rows(candidate: &Candidate, control: Option<&Candidate>) -> Vec<Row> {
    let group = |place: String, judged: &[Judged], control: Option<&[Judged]>| {
        let row = |judged: &Judged| {
            let mut of_control = control.into_iter().flatten();
            let noise = of_control.find(|noise| noise.quantity == judged.quantity);
            Row::new("quantity", format!("{}{place}", judged.quantity.words))
                .with("verdict", judged.outcome().words())
                .with(quoted(&candidate.label), emphasised(judged))
                .with("noise", noise.map_or_else(words::absent, Judged::change))
                .with("margin", judged.margin())
        };
        judged.iter().map(row).collect::<Vec<Row>>()
    };
    if candidate.regimes.is_empty() {
        let control = control.map(|control| &*control.judged);
        return group(String::new(), &candidate.judged, control);
    }
    let regimes = candidate.regimes.iter().enumerate();
    let rows = regimes.flat_map(|(index, regime)| {
        let noise = control.and_then(|control| Some(&*control.regimes.get(index)?.judged));
        let place = format!(" ({})", regime.words());
        group(place, &regime.judged, noise)
    });
    rows.collect()
}
