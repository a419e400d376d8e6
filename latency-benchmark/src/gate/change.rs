//! The counts per request that differ, and which of them rose by more than is allowed.

use std::collections::{BTreeMap, BTreeSet};

use run_format::{CountKind, CountName, CountPlace, GateCell};

use super::args::{Allowance, Rise};

pub(super) type CountsByName = BTreeMap<CountName, Count>;

/// A count above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) count: u64,
    /// The number of requests in which it was counted.
    pub(super) requests: u64,
}

impl Count {
    fn per_request(&self) -> f64 {
        self.count as f64 / self.requests as f64
    }
}

/// A cell that was compared, with the counts that changed.
pub(super) struct ComparedCell {
    pub(super) cell: GateCell,
    pub(super) changes: Vec<Change>,
}

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

    /// Whether it is a count of central as a whole.
    pub(super) fn is_total(&self) -> bool {
        self.name.place == CountPlace::Central
    }

    /// The change in percent. Infinite if the base has none.
    pub(super) fn percent(&self) -> f64 {
        (self.head / self.base - 1.0) * 100.0
    }
}

pub(super) fn changes(
    base: &CountsByName,
    head: &CountsByName,
    allow: &[Allowance],
) -> Vec<Change> {
    let names: BTreeSet<_> = base.keys().chain(head.keys()).collect();
    let changes = names.into_iter().map(|name| {
        let per_request = |counts: &CountsByName| counts.get(name).map_or(0.0, Count::per_request);
        let [base, head] = [base, head].map(per_request);
        Change {
            name: name.clone(),
            base,
            head,
            is_refused: head - base > allowed(allow, name.kind, base),
        }
    });
    let mut changes: Vec<_> = changes.filter(differs).collect();
    let is_refused_total = |change: &&Change| change.is_total() && change.is_refused;
    let totals = changes.iter().filter(is_refused_total);
    let kinds: BTreeSet<_> = totals.map(|total| total.name.kind).collect();
    for change in &mut changes {
        let kind = change.name.kind;
        change.is_refused &= !counts_include_callees(kind) || kinds.contains(&kind);
    }
    changes
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
pub(super) fn counts_include_callees(kind: CountKind) -> bool {
    CountKind::METERED.contains(&kind)
}

/// The rise of a count per request that is allowed.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_per_request_has_four_digits() {
        let shown = [2.048_780_487_804_878, 771_410.25, 0.0, 12.5].map(rounded);
        assert_eq!(shown, ["2.049", "771410", "0", "12.5"]);
    }
}
