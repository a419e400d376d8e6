//! `analysis verdict`: a line for each variant, which begins with one of four answers, and the reasons in a table.

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
    candidates.sort_by_key(|it| Reverse(it.outcome()));
    let baseline = quoted(&summary.variants[BASELINE].label);
    let over = count(verdict.cells, "cell");
    let answer = |it: &&Candidate| {
        let (answer, label) = (it.outcome().words(), quoted(&it.label));
        format!("{answer}: {label} compared with {baseline} over {over}")
    };
    let answers = joined(candidates.iter().map(answer), "\n");
    let control = verdict.control.as_ref();
    let tables = candidates.iter().map(|it| table(rows(it, control)));
    let confidence = confidence(verdict.confidence);
    let mut notes = vec![
        format!("Intervals are in brackets, and have a confidence of {confidence} %."),
        "*Noise* is the difference between two copies of the baseline on this machine.".to_owned(),
    ];
    notes.extend(candidates.iter().filter_map(|it| it.worse()));
    notes.extend(caveats::incomplete(summary));
    notes.extend(trust::of_machine(summary));
    let parts = [answers].into_iter().chain(tables).chain([list(notes)]);
    paragraphs(parts.map(Some))
}

/// Rows of each group of cells if there are several, else of all cells. The control has the same groups.
fn rows(candidate: &Candidate, control: Option<&Candidate>) -> Vec<Row> {
    let group = |place: String, judged: &[Judged], control: Option<&[Judged]>| {
        let row = |it: &Judged| {
            let mut noise = control.into_iter().flatten();
            let noise = noise.find(|noise| noise.quantity == it.quantity);
            Row::of("quantity", format!("{}{place}", it.quantity.words))
                .with("verdict", it.outcome().words())
                .with(quoted(&candidate.label), emphasised(it))
                .with("noise", noise.map_or_else(words::absent, Judged::change))
                .with("margin", it.margin())
        };
        judged.iter().map(row).collect::<Vec<Row>>()
    };
    if candidate.regimes.is_empty() {
        let control = control.map(|it| &*it.judged);
        return group(String::new(), &candidate.judged, control);
    }
    let regimes = candidate.regimes.iter().enumerate();
    let regimes = regimes.flat_map(|(at, it)| {
        let control = control.and_then(|control| Some(&*control.regimes.get(at)?.judged));
        let place = format!(" ({})", it.words());
        group(place, &it.judged, control)
    });
    regimes.collect()
}
