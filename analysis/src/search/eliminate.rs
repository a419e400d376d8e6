//! Which candidates cannot be the best, and which are unlikely to be.

use crate::{
    measure::{metric::Metric, metric_info::Place},
    summary::{CONFIDENCE, Summary},
    verdict::{Candidate, Judged, Verdict, ranking::RANKS},
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
    let idle = idle.into_iter().map(|it| Left {
        variant: it.variant,
        why: Why::NeverFires,
    });
    let mut left: Vec<Left> = idle.collect();
    // The one with the least gain first: of two that dominate each other by a hair, one stays.
    fired.sort_by(|a, b| first_rank(b).total_cmp(&first_rank(a)));
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
            left.push(Left { variant, why });
        }
    }
    let mut ranks: Vec<(usize, usize)> = staying
        .iter()
        .map(|it| {
            (
                staying.iter().filter(|other| is_ahead(other, it)).count(),
                it.variant,
            )
        })
        .collect();
    ranks.sort_unstable();
    left.extend(ranks.into_iter().skip(most).map(|(ahead, variant)| Left {
        variant,
        why: Why::Outranked(ahead),
    }));
    left
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

fn first_rank(candidate: &Candidate) -> f64 {
    let ranks = RANKS.into_iter();
    let judged = ranks.filter_map(|metric| candidate.of_metric(metric));
    judged.map(loss).next().unwrap_or(f64::MAX)
}

fn is_ahead(other: &Candidate, of: &Candidate) -> bool {
    other.variant != of.variant
        && losses(other)
            .zip(losses(of))
            .all(|(other, own)| other <= own)
}

/// Of changes to a candidate from another variant: whether none can be a gain greater than the margin, and one is a loss.
fn is_dominated(judged: &[Judged]) -> bool {
    let metrics = Metric::shown_in(Place::Search);
    let mut deciding = judged
        .iter()
        .filter(|it| metrics.contains(&it.quantity.metric));
    deciding.clone().any(|it| it.loss().low > 0.0) && deciding.all(Judged::excludes_gain)
}
