//! Which candidates cannot be the best, and which are unlikely to be.

use crate::{
    measure::{metric::Metric, metric_info::Place},
    summary::{CONFIDENCE, Summary},
    verdict::{Candidate, Judged, Verdict, recommend::DELAY},
};

/// A candidate that does not stay.
pub(crate) struct Left {
    pub(crate) variant: usize,
    pub(crate) why: Why,
}

pub(crate) enum Why {
    NeverFires,
    /// A variant, the baseline included, is as good in all that decides, and better in something.
    Dominated {
        by: usize,
        judged: Vec<Judged>,
    },
    /// More stay than the next round has time for, and so many of them have better estimates of all that decides.
    Outranked(usize),
}

/// At most so many stay.
pub(crate) fn eliminate(summary: &Summary, verdict: &Verdict, most: usize) -> Vec<Left> {
    let (idle, mut fired): (Vec<_>, Vec<_>) = verdict.candidates.iter().partition(|it| it.is_idle);
    let left = |variant, why| Left { variant, why };
    let idle = idle.iter().map(|it| left(it.variant, Why::NeverFires));
    let mut leaving: Vec<Left> = idle.collect();
    // The one with the longest delay of the co-tenant first: of two that dominate each other by a hair, one stays.
    fired.sort_by(|a, b| delay(b).total_cmp(&delay(a)));
    let mut staying: Vec<&Candidate> = fired.clone();
    // Both copies of the baseline together.
    let reference = summary.variants.len();
    for candidate in fired {
        let variant = candidate.variant;
        let others = staying.iter().rev().map(|it| it.variant);
        let mut others = others.filter(|it| *it != variant).chain([reference]);
        let dominated = others.find_map(|by| {
            let judged = verdict.changes(summary, [by, variant], CONFIDENCE);
            is_dominated(&judged).then_some(Why::Dominated { by, judged })
        });
        if let Some(why) = dominated {
            staying.retain(|it| it.variant != variant);
            leaving.push(left(variant, why));
        }
    }
    let rank = |it: &&Candidate| {
        let ahead = staying.iter().filter(|other| is_ahead(other, it));
        (ahead.count(), it.variant)
    };
    let mut ranks: Vec<(usize, usize)> = staying.iter().map(rank).collect();
    ranks.sort_unstable();
    let outranked = ranks.into_iter().skip(most);
    leaving.extend(outranked.map(|(ahead, variant)| left(variant, Why::Outranked(ahead))));
    leaving
}

/// Turned so that positive is worse.
fn losses(candidate: &Candidate) -> impl Iterator<Item = f64> {
    let metrics = Metric::shown_in(Place::Search).into_iter();
    let judged = metrics.filter_map(|metric| candidate.of_metric(metric));
    judged.map(loss)
}

fn loss(judged: &Judged) -> f64 {
    if judged.quantity.is_lower_better() {
        judged.value
    } else {
        -judged.value
    }
}

fn delay(candidate: &Candidate) -> f64 {
    let delay = DELAY.into_iter();
    let judged = delay.filter_map(|metric| candidate.of_metric(metric));
    judged.map(loss).next().unwrap_or(f64::MAX)
}

fn is_ahead(other: &Candidate, of: &Candidate) -> bool {
    let mut pairs = losses(other).zip(losses(of));
    other.variant != of.variant && pairs.all(|(other, own)| other <= own)
}

/// Of changes to a candidate from another variant: whether none can be a gain greater than the margin, and one is a loss.
fn is_dominated(judged: &[Judged]) -> bool {
    let metrics = Metric::shown_in(Place::Search);
    let decides = |it: &&Judged| metrics.contains(&it.quantity.metric);
    let mut deciding = judged.iter().filter(decides);
    deciding.clone().any(|it| it.loss().low > 0.0) && deciding.all(Judged::excludes_gain)
}
