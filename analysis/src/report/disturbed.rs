//! What difference it makes that disturbed blocks were set aside.

use super::markdown::{Document, or_dash, quoted};
use crate::{
    load::Sweep,
    options::Options,
    summary::Summary,
    verdict::{Candidate, Judged, Verdict},
};
use program::Failure;

/// The verdict with all blocks. None if no block was set aside.
pub(crate) fn verdict_with_all(
    sweep: &Sweep,
    summary: &Summary,
    options: &Options,
) -> Result<Option<Verdict>, Failure> {
    if summary
        .measured()
        .all(|cell| cell.checks.set_aside.is_empty())
    {
        return Ok(None);
    }
    let all = Options {
        keep_disturbed: true,
        ..options.clone()
    };
    Ok(Some(Verdict::of(&Summary::of(sweep, &all)?, &all)))
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
