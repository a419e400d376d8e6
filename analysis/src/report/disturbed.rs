//! How quiet the machine was, and what difference it makes that disturbed blocks were set aside.

use run_format::tables::Disturbance;

use super::markdown::{Document, Row, quoted};
use crate::load::Disturbances;
use crate::measure::Checks;
use crate::measure::checks::sum;
use crate::stats::spread;
use crate::summary::Summary;
use crate::text::{count, joined, number};
use crate::verdict::{Judged, Verdict};

/// Which blocks were disturbed, and by what if that is to be named. Beside those that were set aside there are `left`.
pub(super) fn in_words(
    (set_aside, kept): (&Disturbances, &Disturbances),
    (left, what): (usize, &str),
    is_named: impl Fn(Disturbance) -> bool,
) -> String {
    let by_what = |blocks: &Disturbances| {
        let named = blocks.iter().filter(|(what, _)| is_named(**what));
        let named = named.map(|(what, blocks)| format!(" In {blocks} of them {}.", what.words()));
        named.collect::<String>()
    };
    let were = |blocks: usize| if blocks == 1 { "was" } else { "were" };
    let mut text = String::new();
    if let taken @ 1.. = set_aside.values().sum::<usize>() {
        let (all, were, by) = (count(left + taken, what), were(taken), by_what(set_aside));
        text += &format!(" {taken} of {all} {were} disturbed and set aside.{by}");
    }
    let by = by_what(kept);
    if !by.is_empty() {
        let kept = kept.values().sum();
        let (blocks, were) = (count(kept, what), were(kept));
        text += &format!(
            " {blocks} {were} disturbed and kept, because they are most of their launches.{by}"
        );
    }
    text
}

pub(super) fn of_sweep(summary: &Summary, is_named: impl Fn(Disturbance) -> bool) -> String {
    let set_aside = sum(summary.checks().map(|it| &it.set_aside));
    let kept = sum(summary.checks().map(|it| &it.kept));
    let blocks = summary.measured().map(|cell| cell.measured.blocks).sum();
    in_words((&set_aside, &kept), (blocks, "block"), is_named)
}

pub(crate) fn write(document: &mut Document, verdict: &Verdict, with_all: &Verdict) {
    document.paragraph(
        "Disturbed blocks were set aside. Where they were more than half of a launch, only those in which something stood \
         still for more than a second were. The changes without and with them:",
    );
    let pairs = verdict.candidates.iter().zip(&with_all.candidates);
    let pairs = pairs.filter(|(candidate, _)| !candidate.is_idle);
    let rows = pairs.flat_map(|(without, with)| {
        verdict.quantities.iter().map(move |(quantity, _)| {
            let judged = [without, with].map(|it| it.of_metric(quantity.metric));
            let [without_them, with_them] = judged.map(|judged| judged.map(Judged::change));
            Row::of("variant", quoted(&without.label))
                .with("quantity", quantity.words)
                .with_any("without disturbed blocks", without_them)
                .with_any("with all blocks", with_them)
        })
    });
    document.table(rows);
}

/// Below these shares of a core in the median cell, a machine is quiet, or nearly so. At the second, one wake-up of
/// ten that arrives at random finds its core gone.
const QUIET_PERCENT: f64 = 1.0;
const NEARLY_QUIET_PERCENT: f64 = 10.0;

/// In one sentence. None of a published table, which has no machine.
pub(super) fn grade(summary: &Summary, verdict: &Verdict) -> Option<String> {
    summary.identity.manifest.as_ref()?;
    let grade = |check: fn(&Checks) -> Option<f64>| {
        let (_, median, worst) = spread(summary.checks().filter_map(check))?;
        Some((median, worst))
    };
    let stolen = grade(|checks| checks.steal_percent);
    let Some((stolen, waiting)) = stolen.zip(grade(|checks| checks.waiting_percent)) else {
        return Some(format!(
            "The machine has no grade, because its kernel does not say what central's core lost to others.{}",
            disturbed(summary)
        ));
    };
    let grade = match stolen.0 + waiting.0 {
        lost if lost < QUIET_PERCENT => "quiet",
        lost if lost < NEARLY_QUIET_PERCENT => "nearly quiet",
        _ => "disturbed",
    };
    let [stolen, waiting] = [stolen, waiting]
        .map(|(median, worst)| format!("{} % (worst cell {} %)", number(median), number(worst)));
    let mut sentence = format!(
        "In the median cell the machine was {grade}: of the time of central's core, the hypervisor stole {stolen}, and \
         central's worker waited for it {waiting}."
    );
    sentence += &disturbed(summary);
    if !verdict.spoilt.is_empty() {
        let spoilt = verdict.spoilt.keys().map(|metric| metric.info().words);
        sentence += &format!(" This makes unusable: {}.", joined(spoilt, ", "));
    }
    Some(sentence)
}

/// Which blocks were disturbed, and by what unless that is in the grade.
fn disturbed(summary: &Summary) -> String {
    let mut text = of_sweep(summary, |it| it != Disturbance::Waiting);
    let beside = summary.checks().map(|checks| checks.beside);
    if let beside @ 1.. = beside.sum::<usize>() {
        let runs = count(beside, "run");
        text += &format!(" During {runs} something else measured on this machine, too.");
    }
    text
}
