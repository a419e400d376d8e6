//! What difference it makes that disturbed blocks were set aside.

use super::markdown::{Document, or_dash, quoted};
use crate::{
    options::Options,
    summary::Summary,
    verdict::{Candidate, Judged, Verdict},
};

/// The verdict with all blocks. None if no block was set aside.
pub(crate) fn verdict_with_all(summary: &Summary, options: &Options) -> Option<Verdict> {
    Some(Verdict::of(&summary.with_disturbed()?, options))
}

pub(crate) fn write(document: &mut Document, verdict: &Verdict, with_all: &Verdict) {
    document.paragraph(
        "Disturbed blocks were set aside, unless they were more than half of a launch. The changes without and with them:",
    );
    let pairs = verdict.candidates.iter().zip(&with_all.candidates);
    let rows = pairs
        .filter(|(candidate, _)| !candidate.is_idle)
        .flat_map(|(without, with)| {
            verdict.quantities.iter().map(move |(quantity, _)| {
                let change =
                    |of: &Candidate| or_dash(of.of_metric(quantity.metric).map(Judged::change));
                vec![
                    quoted(&without.label),
                    quantity.words.to_owned(),
                    change(without),
                    change(with),
                ]
            })
        });
    document.table(
        &[
            "variant",
            "quantity",
            "without disturbed blocks",
            "with all blocks",
        ],
        rows,
    );
}
