//! Finds the code that changed. Changes of its callers and callees that only follow from it are left out.

use std::collections::{BTreeMap, BTreeSet};

use run_format::{CountKind, CountName, CountPlace, GateCell, Site};

use super::change::{Change, ComparedCell, counts_include_callees};

/// Code whose counts changed.
pub(super) struct ChangedCode<'a> {
    /// The changes in the cell where they are largest.
    pub(super) changes: Vec<&'a Change>,
    pub(super) cell: GateCell,
    pub(super) cells: usize,
    /// Whether its counts changed and those of central as a whole did not.
    pub(super) is_moved: bool,
}

impl ChangedCode<'_> {
    pub(super) fn is_refused(&self) -> bool {
        self.changes.iter().any(|change| change.is_refused)
    }

    pub(super) fn place(&self) -> &CountPlace {
        &self.changes[0].name.place
    }

    /// The largest change in percent, by which code is sorted.
    fn size(&self) -> f64 {
        let sizes = self.changes.iter().map(|change| change.percent().abs());
        sizes.fold(0.0, f64::max)
    }
}

/// Pairs of a site and the site that is polled inside of it, in the same task.
const CALLERS: [(Site, Site); 2] = [
    (Site::Task, Site::Connection),
    (Site::Connection, Site::Muxer),
];

/// The code that changed in these cells. The order is: code whose counts are refused, code whose work did not only move, code
/// that changed in most cells, code that yields, callees before their callers.
pub(super) fn changed_code(cells: &[ComparedCell]) -> Vec<ChangedCode<'_>> {
    let mut cell_counts = BTreeMap::<&CountPlace, usize>::new();
    let mut found = BTreeMap::<&CountPlace, ChangedCode<'_>>::new();
    for ComparedCell { cell, changes } in cells {
        let changed: BTreeSet<_> = changes.iter().map(|change| &change.name.place).collect();
        for place in changed {
            *cell_counts.entry(place).or_default() += 1;
        }
        for (place, causes) in causes(changes) {
            let code = ChangedCode {
                is_moved: causes.iter().all(|cause| is_moved(changes, cause)),
                changes: causes,
                cell: *cell,
                cells: 0,
            };
            let weight = |code: &ChangedCode<'_>| (code.is_refused(), !code.is_moved, code.size());
            match found.get(place) {
                Some(other) if weight(other) >= weight(&code) => {}
                _ => drop(found.insert(place, code)),
            }
        }
    }
    let mut codes: Vec<_> = found.into_values().collect();
    for code in &mut codes {
        code.cells = cell_counts[code.place()];
    }
    let key = |code: &ChangedCode<'_>| {
        let mut kinds = code.changes.iter().map(|change| change.name.kind);
        let yields = kinds.any(|kind| kind == CountKind::Yields);
        let depth = depth(code.place().site());
        (code.is_refused(), !code.is_moved, code.cells, yields, depth)
    };
    codes.sort_by(|one, other| {
        let by_size = other.size().total_cmp(&one.size());
        key(other).cmp(&key(one)).then(by_size)
    });
    codes
}

fn depth(site: Option<Site>) -> usize {
    match site {
        None => 0,
        Some(Site::Muxer) => 3,
        Some(Site::Connection) => 2,
        Some(_) => 1,
    }
}

/// Whether central's total of this kind is unchanged, so that the same work was done elsewhere before.
fn is_moved(changes: &[Change], change: &Change) -> bool {
    let CountName { kind, place } = &change.name;
    let is_total = |other: &Change| other.is_total() && other.name.kind == *kind;
    place.site().is_some() && counts_include_callees(*kind) && !changes.iter().any(is_total)
}

/// The changes of a cell that follow from no other change there, by the code to which they belong.
fn causes(changes: &[Change]) -> BTreeMap<&CountPlace, Vec<&Change>> {
    let kinds: BTreeSet<CountKind> = changes.iter().map(|change| change.name.kind).collect();
    let totals = changes.iter().filter(|change| change.is_total());
    let mut follows: BTreeSet<&CountName> = totals.map(|change| &change.name).collect();
    follows.extend(children_polled_with_their_site(changes));
    for (caller, callee) in CALLERS {
        follows.extend(callee_polled_with_its_caller(changes, caller, callee));
        for kind in kinds.iter().filter(|kind| counts_include_callees(**kind)) {
            follows.extend(children_that_contain_a_callee(
                changes, *kind, caller, callee,
            ));
        }
    }
    let mut causes = BTreeMap::<_, Vec<&Change>>::new();
    for change in changes {
        if !follows.contains(&change.name) {
            causes.entry(&change.name.place).or_default().push(change);
        }
    }
    causes
}

/// If a site is polled more often, its children are, too.
fn children_polled_with_their_site(changes: &[Change]) -> impl Iterator<Item = &CountName> {
    let polls = |place: &CountPlace| {
        let mut polls = changes
            .iter()
            .filter(|change| change.name.kind == CountKind::Polls);
        polls.find(|change| change.name.place == *place)
    };
    let follows = move |change: &&Change| {
        let CountName {
            kind: CountKind::Polls,
            place: CountPlace::Child(site, _),
        } = &change.name
        else {
            return false;
        };
        polls(&CountPlace::Site(*site))
            .is_some_and(|of_site| (0.0..=1.0 + 1e-9).contains(&(change.rise() / of_site.rise())))
    };
    changes.iter().filter(follows).map(|change| &change.name)
}

/// If a child of the caller that polls the callee is polled more often, the callee is, too, and begins more iterations.
fn callee_polled_with_its_caller(
    changes: &[Change],
    caller: Site,
    callee: Site,
) -> Vec<&CountName> {
    let callee = CountPlace::Site(callee);
    let of_callee = |kind: CountKind| {
        let is_wanted = |change: &&Change| change.name.kind == kind && change.name.place == callee;
        changes.iter().find(is_wanted)
    };
    let Some(polls) = of_callee(CountKind::Polls) else {
        return Vec::new();
    };
    let children = changes_of_children(changes, CountKind::Polls, caller);
    if with_sum(&children, polls.rise()).is_empty() {
        return Vec::new();
    }
    let explained = [Some(polls), of_callee(CountKind::Iterations)];
    explained
        .into_iter()
        .flatten()
        .map(|change| &change.name)
        .collect()
}

/// The counts of a child include those of the callee that it polls. These are the children of the caller whose changes add up
/// to those of the callee.
fn children_that_contain_a_callee(
    changes: &[Change],
    kind: CountKind,
    caller: Site,
    callee: Site,
) -> impl Iterator<Item = &CountName> {
    let is_of_callee =
        |change: &&Change| change.name.kind == kind && change.name.place.site() == Some(callee);
    let rise = changes.iter().filter(is_of_callee).map(Change::rise).sum();
    let children = changes_of_children(changes, kind, caller);
    with_sum(&children, rise)
        .into_iter()
        .map(|change| &change.name)
}

/// The changes of one kind in the children of a site.
fn changes_of_children(changes: &[Change], kind: CountKind, site: Site) -> Vec<&Change> {
    let is_child = |place: &CountPlace| matches!(place, CountPlace::Child(of, _) if *of == site);
    let is_wanted = |change: &&Change| change.name.kind == kind && is_child(&change.name.place);
    changes.iter().filter(is_wanted).collect()
}

/// The smallest set of these changes that add up to `sum`. Empty if there is none.
fn with_sum<'a>(changes: &[&'a Change], sum: f64) -> Vec<&'a Change> {
    /// More changes would have too many sets.
    const MOST: usize = 8;
    let changes = &changes[..changes.len().min(MOST)];
    let chosen = |set: u32| {
        let numbered = (0..).zip(changes);
        let chosen = numbered.filter(move |(number, _)| set & (1 << number) != 0);
        chosen.map(|(_, change)| *change)
    };
    let mut sets: Vec<u32> = (1..1 << changes.len()).collect();
    sets.sort_by_key(|set| set.count_ones());
    let has_sum = |set: &u32| is_same(chosen(*set).map(Change::rise).sum(), sum);
    let mut sets = sets.into_iter();
    let found = sets.find(|set| !is_same(sum, 0.0) && has_sum(set));
    found.map_or_else(Vec::new, |set| chosen(set).collect())
}

/// Whether two sums are equal apart from rounding: counts per request are quotients.
fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0)
}

#[cfg(test)]
mod tests {
    use run_format::{GateTransport, Load, Pace, Payload, Security, Workload};

    use super::*;

    type Counted = (CountKind, CountPlace, f64, f64);

    const MUXER: CountPlace = CountPlace::Site(Site::Muxer);

    fn polls_muxer() -> CountPlace {
        CountPlace::Child(Site::Connection, "muxing.poll_unpin".to_owned())
    }

    fn flush() -> CountPlace {
        CountPlace::Child(Site::Muxer, "self.socket.poll_flush_unpin".to_owned())
    }

    fn child(site: Site, name: &str) -> CountPlace {
        CountPlace::Child(site, name.to_owned())
    }

    fn cell(peers: usize, counts: &[Counted]) -> ComparedCell {
        let change = |(kind, place, base, head): &Counted| Change {
            name: CountName {
                kind: *kind,
                place: place.clone(),
            },
            base: *base,
            head: *head,
            is_refused: head > base,
        };
        let cell = GateCell {
            transport: GateTransport::Memory,
            security: Security::Noise,
            workload: Workload::Stream,
            peers,
            load: Load {
                payload: Payload::kib(16),
                pace: Pace::Outstanding(2),
            },
        };
        let changes = counts.iter().map(change).collect();
        ComparedCell { cell, changes }
    }

    fn names(cells: &[ComparedCell]) -> Vec<String> {
        let codes = changed_code(cells);
        codes.iter().map(|code| code.place().to_string()).collect()
    }

    #[test]
    fn a_copy_in_the_muxer_is_one_place_and_its_callers_are_none() {
        use CountKind::{Allocations, Bytes};
        let counts = [(Allocations, 3.0, 4.0), (Bytes, 7.25, 16_391.25)];
        let counts = counts.map(|(kind, base, head)| {
            [
                (kind, CountPlace::Central, 2.0 * base, base + head),
                (kind, child(Site::Task, "connection.poll"), base, head),
                (kind, polls_muxer(), base, head),
                (kind, CountPlace::OwnCode(Site::Muxer), base, head),
            ]
        });
        assert_eq!(names(&[cell(1, &counts.concat())]), ["`muxer`, own code"]);
    }

    #[test]
    fn a_flush_too_many_comes_before_what_happens_less_often() {
        use CountKind::Polls;
        let flushes = (Polls, flush(), 1.0, 2.0);
        let more = [
            flushes.clone(),
            (Polls, MUXER, 2.0, 2.5),
            (Polls, polls_muxer(), 2.0, 2.5),
        ];
        let found = names(&[cell(1, &[flushes]), cell(5, &more)]);
        let expected = [
            "`muxer`, `self.socket.poll_flush_unpin`",
            "`connection`, `muxing.poll_unpin`",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn polls_of_a_callee_follow_from_those_that_its_caller_makes() {
        use CountKind::{Iterations, Polls};
        let counts = [
            (Polls, polls_muxer(), 2.0, 4.0),
            (Polls, MUXER, 2.0, 4.0),
            (Iterations, MUXER, 3.0, 5.0),
            (Polls, flush(), 1.0, 2.0),
        ];
        let found = names(&[cell(1, &counts)]);
        assert_eq!(found, ["`connection`, `muxing.poll_unpin`"]);
    }

    #[test]
    fn work_that_moved_comes_last() {
        use CountKind::{Bytes, Polls};
        let counts = [
            (Bytes, child(Site::Muxer, "a"), 1_053_440.0, 0.0),
            (Bytes, child(Site::Muxer, "b"), 0.0, 1_053_440.0),
            (Polls, child(Site::Connection, "c"), 1.0, 0.5),
        ];
        let mut cells = [cell(1, &counts)];
        // They are not refused if the total of central has not risen.
        for change in &mut cells[0].changes {
            change.is_refused = false;
        }
        let codes = changed_code(&cells);
        let found = codes
            .iter()
            .map(|code| (code.place().to_string(), code.is_moved));
        let expected = [
            ("`connection`, `c`", false),
            ("`muxer`, `b`", true),
            ("`muxer`, `a`", true),
        ];
        let expected = expected.map(|(name, is_moved)| (name.to_owned(), is_moved));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
