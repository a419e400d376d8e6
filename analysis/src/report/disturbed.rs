//! How quiet the machine was, and what difference it makes that disturbed blocks were set aside.

use run_format::tables::Disturbance;

use super::markdown::Document;
use crate::load::Disturbances;
use crate::measure::Checks;
use crate::measure::checks::sum;
use crate::prose::{self, prose};
use crate::stats::spread;
use crate::summary::Summary;
use crate::text::number;
use crate::verdict::{Candidate, Judged, Verdict};

/// Which blocks were disturbed, and by what if that is to be named. Beside those that were set aside there are `left`.
pub(super) fn in_words(
    (set_aside, kept): (&Disturbances, &Disturbances),
    (left, what): (usize, &str),
    is_named: impl Fn(Disturbance) -> bool,
) -> String {
    let by_what = |blocks: &Disturbances| {
        let named = blocks.iter().filter(|(what, _)| is_named(**what));
        named
            .map(|(what, blocks)| (*blocks, what.words()))
            .collect()
    };
    prose::text(&prose!('a "disturbed.txt" {
        what: &'a str = what,
        left: usize = left,
        taken: usize = set_aside.values().sum(),
        set_aside: Vec<(usize, &'static str)> = by_what(set_aside),
        all_kept: usize = kept.values().sum(),
        kept: Vec<(usize, &'static str)> = by_what(kept),
    }))
}

pub(super) fn of_sweep(summary: &Summary, is_named: impl Fn(Disturbance) -> bool) -> String {
    let set_aside = sum(summary.checks().map(|it| &it.set_aside));
    let kept = sum(summary.checks().map(|it| &it.kept));
    let blocks = summary.measured().map(|cell| cell.measured.blocks).sum();
    in_words((&set_aside, &kept), (blocks, "block"), is_named)
}

pub(crate) fn write(document: &mut Document, verdict: &Verdict, with_all: &Verdict) {
    let pairs = verdict.candidates.iter().zip(&with_all.candidates);
    document.prose(&prose!('a "with_disturbed.txt" {
        verdict: &'a Verdict = verdict,
        pairs: Vec<(&'a Candidate, &'a Candidate)> = pairs.filter(|(it, _)| !it.is_idle).collect(),
    }));
}

/// Below these shares of a core in the median cell, a machine is quiet, or nearly so. At the second, one wake-up of
/// ten that arrives at random finds its core gone.
const QUIET_PERCENT: f64 = 1.0;
const NEARLY_QUIET_PERCENT: f64 = 10.0;

/// In a few sentences. None of a published table, which has no machine.
pub(super) fn grade(summary: &Summary, verdict: &Verdict) -> Option<String> {
    summary.identity.manifest.as_ref()?;
    let lost = |check: fn(&Checks) -> Option<f64>| {
        let (_, median, worst) = spread(summary.checks().filter_map(check))?;
        let words = format!("{} % (worst cell {} %)", number(median), number(worst));
        Some((median, words))
    };
    let stolen = lost(|checks| checks.steal_percent);
    let lost = stolen.zip(lost(|checks| checks.waiting_percent));
    let grade = match lost
        .as_ref()
        .map_or(0.0, |(stolen, waiting)| stolen.0 + waiting.0)
    {
        lost if lost < QUIET_PERCENT => "quiet",
        lost if lost < NEARLY_QUIET_PERCENT => "nearly quiet",
        _ => "disturbed",
    };
    let spoilt = verdict.spoilt.keys().map(|metric| metric.info().words);
    Some(prose::text(&prose!("grade.txt" {
        grade: &'static str = grade,
        lost: Option<[String; 2]> = lost.map(|(stolen, waiting)| [stolen.1, waiting.1]),
        // What is in the grade is not named again.
        disturbed: String = of_sweep(summary, |it| it != Disturbance::Waiting),
        beside: usize = summary.checks().map(|checks| checks.beside).sum(),
        spoilt: Vec<&'static str> = spoilt.collect(),
    })))
}
