//! What difference it makes that disturbed blocks were set aside.

use super::markdown::{Document, or_dash, quoted};
use crate::{
    load::blocks::Disturbances,
    measure::checks::sum,
    options::Options,
    summary::Summary,
    text::count,
    verdict::{Candidate, Judged, Verdict},
};
use run_format::tables::Disturbance;

/// Which blocks were disturbed, and by what if that is to be named. Beside those that were set aside there are `left`.
pub(super) fn in_words(
    (set_aside, kept): (&Disturbances, &Disturbances),
    (left, what): (usize, &str),
    is_named: impl Fn(Disturbance) -> bool,
) -> String {
    let by_what = |of: &Disturbances| {
        let of = of.iter().filter(|(it, _)| is_named(**it));
        let of = of.map(|(it, blocks)| format!(" In {blocks} of them {}.", it.words()));
        of.collect::<String>()
    };
    let were = |blocks: usize| if blocks == 1 { "was" } else { "were" };
    let mut text = String::new();
    let taken: usize = set_aside.values().sum();
    if taken > 0 {
        text += &format!(
            " {taken} of {} {} disturbed and set aside.{}",
            count(left + taken, what),
            were(taken),
            by_what(set_aside)
        );
    }
    if !by_what(kept).is_empty() {
        let kept_blocks = kept.values().sum();
        text += &format!(
            " {} {} disturbed and kept, because they are most of their launches.{}",
            count(kept_blocks, what),
            were(kept_blocks),
            by_what(kept)
        );
    }
    text
}

/// The same of all blocks of a sweep.
pub(super) fn of_sweep(summary: &Summary, is_named: impl Fn(Disturbance) -> bool) -> String {
    let set_aside = sum(summary.checks().map(|it| &it.set_aside));
    let kept = sum(summary.checks().map(|it| &it.kept));
    let blocks = summary.measured().map(|cell| cell.measured.blocks).sum();
    in_words((&set_aside, &kept), (blocks, "block"), is_named)
}

/// The verdict with all blocks. None if no block was set aside.
pub(crate) fn verdict_with_all(summary: &mut Summary, options: &Options) -> Option<Verdict> {
    let site = summary.first_site(options);
    Some(Verdict::of(&summary.take_disturbed(site)?, options))
}

pub(crate) fn write(document: &mut Document, verdict: &Verdict, with_all: &Verdict) {
    document.paragraph(
        "Disturbed blocks were set aside. Where they were more than half of a launch, only those in which something stood \
         still for more than a second were. The changes without and with them:",
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
        "variant | quantity | without disturbed blocks | with all blocks",
        rows,
    );
}
