//! Compares the counts of two programs, or of two runs of one program.

use std::collections::{BTreeMap, BTreeSet};

use run_format::{CountKind, CountName};

use super::args::{Allowance, Rise};

/// Counts above zero, each with the number of requests in which it was counted.
pub(super) type Counts = BTreeMap<CountName, (u64, u64)>;

/// A count per request that differs.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) name: CountName,
    pub(super) base: f64,
    pub(super) head: f64,
    /// Whether it rose by more than is allowed. If central has a total of this kind, the total has to rise by more, too.
    pub(super) is_refused: bool,
}

impl Change {
    pub(super) fn rise(&self) -> f64 {
        self.head - self.base
    }

    /// The change in percent. Infinite if the base has none.
    pub(super) fn percent(&self) -> f64 {
        (self.head / self.base - 1.0) * 100.0
    }
}

pub(super) fn changes(base: &Counts, head: &Counts, allow: &[Allowance]) -> Vec<Change> {
    let names: BTreeSet<_> = base.keys().chain(head.keys()).collect();
    let changes = names.into_iter().map(|name| {
        let [base, head] = [base, head].map(|counts| counts.get(name).map_or(0.0, per_request));
        Change {
            name: name.clone(),
            base,
            head,
            is_refused: head - base > allowed(allow, name.kind, base),
        }
    });
    let mut changes: Vec<_> = changes.filter(differs).collect();
    let totals = changes
        .iter()
        .filter(|change| change.name.site.is_none() && change.is_refused);
    let totals: BTreeSet<_> = totals.map(|change| change.name.kind).collect();
    for change in &mut changes {
        let kind = change.name.kind;
        change.is_refused &= !is_nested(kind) || totals.contains(&kind);
    }
    changes
}

fn per_request((count, requests): &(u64, u64)) -> f64 {
    *count as f64 / *requests as f64
}

/// Whether the counts differ. A few of callgrind's instructions depend on addresses, so tiny differences do not count.
fn differs(change: &Change) -> bool {
    const SAME: f64 = 1e-4;
    let Change { base, head, .. } = *change;
    match change.name.kind {
        CountKind::Instructions => (base - head).abs() > SAME * base.max(head),
        _ => base != head,
    }
}

/// Whether counts of this kind include those of the sites that are polled inside, and central has a total.
pub(super) fn is_nested(kind: CountKind) -> bool {
    CountKind::METERED.contains(&kind)
}

/// By how much a count may rise per request.
fn allowed(allow: &[Allowance], kind: CountKind, base: f64) -> f64 {
    const INSTRUCTIONS: Rise = Rise::Percent(1.0);
    let allowance = allow.iter().rfind(|allowance| allowance.kind == kind);
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

/// A number with four digits, without zeros at its end.
pub(super) fn rounded(number: f64) -> String {
    let decimals = match number.abs() {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        _ => 3,
    };
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
