//! Counts that differ, of two programs or of two runs of one program.

use std::collections::{BTreeMap, BTreeSet};

use run_format::{CountKind, CountName};

use super::args::{Allowance, Rise};

/// Counts, each with the number of requests that it is of. A count of zero is absent.
pub(super) type Counts = BTreeMap<CountName, (u64, u64)>;

/// A count per request.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) name: CountName,
    pub(super) base: f64,
    pub(super) head: f64,
    /// Whether it rose by more than is allowed. Of counts that have a total of central, the total has to rise by more, too.
    pub(super) is_refused: bool,
}

impl Change {
    pub(super) fn rise(&self) -> f64 {
        self.head - self.base
    }

    /// Infinite if there was nothing.
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

/// Instructions are counted by another program, in which a few depend on addresses.
fn differs(change: &Change) -> bool {
    const SAME: f64 = 1e-4;
    let Change { base, head, .. } = *change;
    match change.name.kind {
        CountKind::Instructions => (base - head).abs() > SAME * base.max(head),
        _ => base != head,
    }
}

/// Whether counts of a child contain those of the sites that are polled inside of it, and central has a total.
pub(super) fn is_nested(kind: CountKind) -> bool {
    CountKind::METERED.contains(&kind)
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

/// Four digits, as far as they are needed.
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
