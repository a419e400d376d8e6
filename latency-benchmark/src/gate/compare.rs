//! What changed between the base and the head, in each cell.

use std::collections::BTreeSet;

use run_format::{CountKind, CountName};

use super::args::{Allowance, Rise};
use super::measure::{Counts, MeasuredCell, SIDES};

/// What is known of a cell.
pub(super) enum Compared {
    /// A program failed, or was interrupted.
    Failed(String),
    /// Two runs of one program differ. What differed, in words.
    NotDeterministic(String),
    /// The counts that changed.
    Changes(Vec<Change>),
}

/// A count per request.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) name: CountName,
    pub(super) base: f64,
    pub(super) head: f64,
    /// Whether it rose by more than is allowed.
    pub(super) is_refused: bool,
}

impl Change {
    /// Infinite if there was nothing.
    pub(super) fn percent(&self) -> f64 {
        (self.head / self.base - 1.0) * 100.0
    }
}

pub(super) fn compare(measured: &MeasuredCell, allow: &[Allowance]) -> Compared {
    let mut whole = Vec::new();
    for (side, label) in measured.sides.iter().zip(SIDES) {
        let mut attempts = Vec::new();
        for attempt in &side.attempts {
            match attempt {
                None => return Compared::Failed("not counted".to_owned()),
                Some(Err(error)) => return Compared::Failed(format!("{label}: {error:#}")),
                Some(Ok(counts)) => attempts.push(counts),
            }
        }
        let first = attempts[0];
        for again in &attempts[1..] {
            if let Some(name) = names(first, again).find(|name| differs(first, again, name)) {
                let [first, again] = [first, again].map(|counts| per_request(counts, &name));
                return Compared::NotDeterministic(format!(
                    "{label}: {name} {first} and {again} per request"
                ));
            }
        }
        whole.push(first);
    }
    let (base, head) = (whole[0], whole[1]);
    let changed = names(base, head).filter(|name| differs(base, head, name));
    let changes = changed.map(|name| {
        let [base, head] = [base, head].map(|counts| per_request(counts, &name));
        Change {
            is_refused: head - base > allowed(allow, name.kind, base),
            name,
            base,
            head,
        }
    });
    Compared::Changes(changes.collect())
}

fn names(one: &Counts, other: &Counts) -> impl Iterator<Item = CountName> + use<> {
    let names: BTreeSet<_> = one.keys().chain(other.keys()).cloned().collect();
    names.into_iter()
}

fn per_request(counts: &Counts, name: &CountName) -> f64 {
    let count = counts.get(name);
    count.map_or(0.0, |(count, requests)| *count as f64 / *requests as f64)
}

/// Instructions are counted by another program, in which a few depend on addresses.
fn differs(one: &Counts, other: &Counts, name: &CountName) -> bool {
    const SAME: f64 = 1e-4;
    let [one, other] = [one, other].map(|counts| per_request(counts, name));
    match name.kind {
        CountKind::Instructions => (one - other).abs() > SAME * one.max(other),
        _ => one != other,
    }
}

/// By how much a count may rise per request.
fn allowed(allow: &[Allowance], kind: CountKind, base: f64) -> f64 {
    const INSTRUCTIONS: Rise = Rise::Percent(1.0);
    let allowance = allow.iter().rfind(|it| it.kind == kind);
    let rise = match (allowance, kind) {
        (Some(allowance), _) => allowance.rise,
        (None, CountKind::Instructions) => INSTRUCTIONS,
        (None, _) => return 0.0,
    };
    match rise {
        Rise::PerRequest(rise) => rise,
        Rise::Percent(percent) => base * percent / 100.0,
    }
}
