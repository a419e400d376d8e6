//! Verdicts with random intervals, on all sides of zero and of the margins and exactly on them.

use std::collections::BTreeMap;

use rand::RngExt;
use rand::rngs::StdRng;
use run_format::{Ends, Rtt, Site};

use crate::metrics::{Metric, Quantity};
use crate::site::SiteNames;
use crate::stats::Interval;
use crate::verdict::candidate::YieldsPer1000;
use crate::verdict::delay_group::{Delay, DelayGroup, group_words};
use crate::verdict::{
    BeforeAfter, Candidate, GroupChanges, Pair, QuantityChange, SiteYields, Verdict,
};

/// However much a copy of the baseline differs, nobody should use it.
pub(super) const CONTROL: &str = "none (A/A)";

/// The group of cells with a delay like that of the default grid.
pub(super) fn group(delay: Delay) -> DelayGroup {
    let [shortest, longest] = match delay {
        Delay::None => [0.0, 0.0],
        Delay::Short => [5.0, 5.0],
        Delay::Long => [25.0, 200.0],
    }
    .map(|ms| Rtt::from_ms(ms).expect("a round trip"));
    DelayGroup {
        delay,
        shortest,
        longest,
    }
}

pub(super) fn verdict(rng: &mut StdRng) -> Verdict {
    let mut quantities = Quantity::all();
    quantities.retain(|_| rng.random_bool(0.9));
    let count = rng.random_range(1..=4);
    let mut candidates: Vec<Candidate> = (0..count)
        .map(|at| candidate(at, &quantities, rng))
        .collect();
    let mut control = rng.random_bool(0.5).then(|| Candidate {
        label: CONTROL.to_owned(),
        never_fired: false,
        ..candidate(count, &quantities, rng)
    });
    // All candidates of a sweep have the same groups of cells.
    if rng.random_bool(0.5) {
        for candidate in candidates.iter_mut().chain(&mut control) {
            candidate.groups.clear();
        }
    }
    let gaining = candidates
        .iter()
        .enumerate()
        .filter(|(_, candidate)| candidate.gains());
    let gaining: Vec<usize> = gaining.map(|(at, _)| at).collect();
    let mut pairs = Vec::new();
    for (index, &from) in gaining.iter().enumerate() {
        for &to in &gaining[index + 1..] {
            let changes = all(&quantities, 0.3, rng);
            let back = changes.iter().map(turned).collect();
            for (from, changes) in [(from, changes), (to, back)] {
                pairs.push(Pair { from, changes });
            }
        }
    }
    Verdict {
        has_single_launches: rng.random_bool(0.5),
        control,
        pairs,
        quantities,
        ..about(candidates)
    }
}

fn about(candidates: Vec<Candidate>) -> Verdict {
    Verdict {
        site: Site::Connection,
        site_words: SiteNames::libp2p(),
        threshold_words: "50 µs".to_owned(),
        has_single_launches: false,
        cells: 8,
        baseline_curve: Vec::new(),
        candidates,
        control: None,
        pairs: Vec::new(),
        quantities: Vec::new(),
        confidence: 0.99,
        measured_s: 600.0,
        failed_subjects: Vec::new(),
    }
}

/// A verdict about one candidate that changes the time beyond the threshold so, in percent, in these groups.
pub(super) fn about_one(changes_by_group: &[(Delay, f64)]) -> Verdict {
    let known: Vec<DelayGroup> = changes_by_group
        .iter()
        .map(|(delay, _)| group(*delay))
        .collect();
    let beyond = Quantity::by_metric(Metric::BeyondMsPerS).expect("it decides");
    let groups = known
        .iter()
        .zip(changes_by_group)
        .map(|(group, (_, percent))| GroupChanges {
            group: *group,
            words: group_words(&[*group], &known),
            cells: 8,
            changes: vec![QuantityChange {
                quantity: beyond,
                value: *percent,
                interval: Interval::new(percent - 5.0, percent + 5.0),
                cells: 8,
                levels: None,
            }],
            beyond: BTreeMap::new(),
        });
    about(vec![Candidate {
        groups: groups.collect(),
        ..unchanged(0, vec![yields_of_muxer(Some(YIELDS))])
    }])
}

/// A verdict about one candidate in an application, in which these quantities change by so many percent.
pub(super) fn about_application(changes: &[(Metric, f64)]) -> Verdict {
    let changes: Vec<QuantityChange> = changes.iter().copied().map(changed).collect();
    Verdict {
        quantities: changes.iter().map(|change| change.quantity).collect(),
        ..about(vec![Candidate {
            changes,
            is_of_application: true,
            ..unchanged(0, vec![yields_of_muxer(Some(YIELDS))])
        }])
    }
}

/// Two candidates that gain something. The first one bounds no site, and the second has so much less time beyond the
/// threshold and throughput, in percent of the first one's.
pub(super) fn about_two(less_beyond: f64, less_throughput: f64) -> Verdict {
    let candidate = |at: usize, yields: Vec<SiteYields>| Candidate {
        changes: vec![changed((Metric::BeyondMsPerS, -50.0))],
        ..unchanged(at, yields)
    };
    let pair = |from: usize, sign: f64| Pair {
        from,
        changes: vec![
            changed((Metric::BeyondMsPerS, -sign * less_beyond)),
            changed((Metric::RequestsPerS, -sign * less_throughput)),
        ],
    };
    Verdict {
        pairs: vec![pair(0, 1.0), pair(1, -1.0)],
        ..about(vec![
            candidate(0, Vec::new()),
            candidate(1, vec![yields_of_muxer(Some(YIELDS))]),
        ])
    }
}

/// A candidate in central that changes nothing.
fn unchanged(at: usize, yields: Vec<SiteYields>) -> Candidate {
    Candidate {
        variant: at + 1,
        label: candidate_label(at),
        ends: Ends::Central,
        yields,
        changes: Vec::new(),
        groups: Vec::new(),
        curve: Vec::new(),
        beyond: BTreeMap::new(),
        opposite: Vec::new(),
        worse_cells: Vec::new(),
        never_fired: false,
        is_of_application: false,
    }
}

fn changed((metric, percent): (Metric, f64)) -> QuantityChange {
    let quantity = Quantity::by_metric(metric).expect("it decides");
    QuantityChange {
        quantity,
        value: percent,
        interval: Interval::new(percent - 1.0, percent + 1.0),
        cells: 1,
        levels: None,
    }
}

const YIELDS: YieldsPer1000 = YieldsPer1000 {
    mean: 1.0,
    most: 2.0,
};

fn yields_of_muxer(per_1000: Option<YieldsPer1000>) -> SiteYields {
    SiteYields {
        site: Site::Muxer,
        is_known: true,
        per_1000,
        single_iteration_percent: None,
    }
}

pub(super) fn candidate_label(at: usize) -> String {
    format!("muxer={at}")
}

fn candidate(at: usize, quantities: &[Quantity], rng: &mut StdRng) -> Candidate {
    let never_fired = rng.random_bool(0.1);
    let per_1000 = match never_fired {
        true => rng.random_bool(0.5).then_some(YieldsPer1000 {
            mean: 0.0,
            most: 0.0,
        }),
        false => Some(YIELDS),
    };
    // With few values beyond the margins all classes are as likely.
    let beyond = [0.0, 0.1, 0.5][rng.random_range(0..3)];
    Candidate {
        changes: all(quantities, beyond, rng),
        groups: groups(quantities, beyond, rng),
        opposite: opposite(rng),
        never_fired,
        ..unchanged(at, vec![yields_of_muxer(per_1000)])
    }
}

fn groups(quantities: &[Quantity], beyond: f64, rng: &mut StdRng) -> Vec<GroupChanges> {
    let known = [Delay::None, Delay::Short, Delay::Long].map(group);
    let in_group = |group: DelayGroup| GroupChanges {
        group,
        words: group_words(&[group], &known),
        cells: 8,
        changes: all(quantities, beyond, rng),
        beyond: BTreeMap::new(),
    };
    known.into_iter().map(in_group).collect()
}

fn opposite(rng: &mut StdRng) -> Vec<u64> {
    match rng.random_bool(0.2) {
        true => vec![3_000_000, 10_000_000],
        false => Vec::new(),
    }
}

fn all(quantities: &[Quantity], beyond: f64, rng: &mut StdRng) -> Vec<QuantityChange> {
    let known = quantities
        .iter()
        .filter(|_| rng.random_bool(0.9))
        .collect::<Vec<_>>();
    known
        .into_iter()
        .map(|quantity| random_change(*quantity, beyond, rng))
        .collect()
}

fn random_change(quantity: Quantity, beyond: f64, rng: &mut StdRng) -> QuantityChange {
    let margin = quantity.margin;
    let mut ends = [end(margin, rng), end(margin, rng)];
    if rng.random_bool(0.3) {
        // The change is shown to be small.
        ends = ends.map(|_| margin * rng.random_range(-0.95..0.95));
    }
    if rng.random_bool(beyond) {
        let side = if rng.random_bool(0.6) { -1.0 } else { 1.0 };
        ends = ends.map(|end| side * (margin * 1.01 + end.abs()));
    }
    let low = ends[0].min(ends[1]);
    let high = ends[0].max(ends[1]) + 0.01 * margin;
    QuantityChange {
        quantity,
        value: low + (high - low) * rng.random_range(0.1..0.9),
        interval: Interval { low, high },
        cells: rng.random_range(7..=8),
        levels: rng.random_bool(0.5).then_some(BeforeAfter {
            before: 619.0,
            after: 147.0,
        }),
    }
}

fn end(margin: f64, rng: &mut StdRng) -> f64 {
    const PLACES: [f64; 8] = [-3.0, -1.0, -0.7, 0.0, 0.7, 1.0, 3.0, 40.0];
    let place = PLACES[rng.random_range(0..PLACES.len())];
    let near = if rng.random_bool(0.2) {
        0.0
    } else {
        rng.random_range(-0.3..0.3)
    };
    margin * (place + near)
}

fn turned(change: &QuantityChange) -> QuantityChange {
    let Interval { low, high } = change.interval;
    QuantityChange {
        value: -change.value,
        interval: Interval {
            low: -high,
            high: -low,
        },
        ..*change
    }
}
