//! Finds the code that changed. Changes of its callers and callees that only follow from it are left out.

use std::collections::{BTreeMap, BTreeSet};

use run_format::{CountKind, CountName, GateCell, OWN_CODE, Site};

use super::change::{Change, ComparedCell, counts_include_callees};

/// Code whose counts changed.
pub(super) struct Place<'a> {
    /// The changes in the cell where they are largest.
    pub(super) changes: Vec<&'a Change>,
    pub(super) cell: GateCell,
    pub(super) cells: usize,
    /// Whether its counts changed and those of central as a whole did not.
    pub(super) is_moved: bool,
}

impl Place<'_> {
    pub(super) fn is_refused(&self) -> bool {
        self.changes.iter().any(|change| change.is_refused)
    }

    pub(super) fn name(&self) -> String {
        self.changes[0].name.place()
    }

    /// The largest change in percent, by which places are sorted.
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

type Code<'a> = (Option<Site>, Option<&'a str>);

/// The code that changed in these cells. The order is: code whose counts are refused, code whose work did not only move, code
/// that changed in most cells, code that yields, callees before their callers.
pub(super) fn places(cells: &[ComparedCell]) -> Vec<Place<'_>> {
    let mut cell_counts = BTreeMap::<Code<'_>, usize>::new();
    let mut found = BTreeMap::<Code<'_>, Place<'_>>::new();
    for ComparedCell { cell, changes } in cells {
        let changed: BTreeSet<Code<'_>> = changes.iter().map(code).collect();
        for code in changed {
            *cell_counts.entry(code).or_default() += 1;
        }
        let follows = following(changes);
        let mut causes = BTreeMap::<_, Vec<&Change>>::new();
        for change in changes {
            if !follows.contains(&change.name) {
                causes.entry(code(change)).or_default().push(change);
            }
        }
        for (code, causes) in causes {
            let place = Place {
                is_moved: causes.iter().all(|cause| is_moved(changes, cause)),
                changes: causes,
                cell: *cell,
                cells: 0,
            };
            let weight = |place: &Place<'_>| (place.is_refused(), !place.is_moved, place.size());
            match found.get(&code) {
                Some(other) if weight(other) >= weight(&place) => {}
                _ => drop(found.insert(code, place)),
            }
        }
    }
    let mut places: Vec<_> = found.into_iter().collect();
    for (code, place) in &mut places {
        place.cells = cell_counts[code];
    }
    let key = |place: &Place<'_>| {
        let mut kinds = place.changes.iter().map(|change| change.name.kind);
        let yields = kinds.any(|kind| kind == CountKind::Yields);
        let site = place.changes[0].name.site;
        let is_refused = place.is_refused();
        (
            is_refused,
            !place.is_moved,
            place.cells,
            yields,
            depth(site),
        )
    };
    places.sort_by(|(_, one), (_, other)| {
        let by_size = other.size().total_cmp(&one.size());
        key(other).cmp(&key(one)).then(by_size)
    });
    places.into_iter().map(|(_, place)| place).collect()
}

fn code(change: &Change) -> Code<'_> {
    (change.name.site, change.name.child.as_deref())
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
    let CountName { kind, site, .. } = change.name;
    let is_total = |other: &Change| other.is_total() && other.name.kind == kind;
    site.is_some() && counts_include_callees(kind) && !changes.iter().any(is_total)
}

/// The changes of a cell that follow from other changes there, and those of central's totals.
fn following(changes: &[Change]) -> BTreeSet<&CountName> {
    let mut follows = BTreeSet::new();
    for change in changes {
        let name = &change.name;
        // If the site is polled more often, its children are, too.
        let is_polls_of_site = |other: &&Change| {
            let CountName { kind, site, child } = &other.name;
            (kind, site, child) == (&CountKind::Polls, &name.site, &None)
        };
        let explains =
            |other: &Change| (0.0..=1.0 + 1e-9).contains(&(change.rise() / other.rise()));
        let is_polled_with_site = name.kind == CountKind::Polls
            && name.child.is_some()
            && changes.iter().filter(is_polls_of_site).any(explains);
        if change.is_total() || is_polled_with_site {
            follows.insert(name);
        }
    }
    let kinds: BTreeSet<CountKind> = changes.iter().map(|change| change.name.kind).collect();
    for (caller, callee) in CALLERS {
        for kind in &kinds {
            let changes_of = |site: Site| {
                let is_of = move |name: &CountName| name.kind == *kind && name.site == Some(site);
                changes.iter().filter(move |change| is_of(&change.name))
            };
            let is_child = |change: &&Change| {
                let child = change.name.child.as_deref();
                child.is_some_and(|child| child != OWN_CODE)
            };
            let children: Vec<_> = changes_of(caller).filter(is_child).collect();
            if counts_include_callees(*kind) {
                // A child's counts include those of the callee that it polls.
                let inside = changes_of(callee).map(Change::rise).sum();
                let explained = with_sum(&children, inside).into_iter();
                follows.extend(explained.map(|change| &change.name));
            } else if *kind == CountKind::Polls {
                // A child that is polled more often polls the callee more often.
                let polls = changes_of(callee).filter(|change| change.name.child.is_none());
                let rise = polls.map(Change::rise).sum();
                if !with_sum(&children, rise).is_empty() {
                    let is_of_callee = |change: &&Change| {
                        let CountName { kind, site, child } = &change.name;
                        *site == Some(callee)
                            && child.is_none()
                            && [CountKind::Polls, CountKind::Iterations].contains(kind)
                    };
                    let explained = changes.iter().filter(is_of_callee);
                    follows.extend(explained.map(|change| &change.name));
                }
            }
        }
    }
    follows
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

    type Counted = (CountKind, Option<Site>, Option<&'static str>, f64, f64);

    const CONNECTION: Option<Site> = Some(Site::Connection);
    const MUXER: Option<Site> = Some(Site::Muxer);
    const TASK: Option<Site> = Some(Site::Task);
    const POLLS_MUXER: Option<&str> = Some("muxing.poll_unpin");
    const FLUSHES: Option<&str> = Some("self.socket.poll_flush_unpin");

    fn cell(peers: usize, counts: &[Counted]) -> ComparedCell {
        let change = |&(kind, site, child, base, head): &Counted| Change {
            name: CountName {
                kind,
                site,
                child: child.map(str::to_owned),
            },
            base,
            head,
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
        places(cells).iter().map(Place::name).collect()
    }

    #[test]
    fn a_copy_in_the_muxer_is_one_place_and_its_callers_are_none() {
        use CountKind::{Allocations, Bytes};
        let counts = [(Allocations, 3.0, 4.0), (Bytes, 7.25, 16_391.25)];
        let counts = counts.map(|(kind, base, head)| {
            [
                (kind, None, None, 2.0 * base, base + head),
                (kind, TASK, Some("connection.poll"), base, head),
                (kind, CONNECTION, POLLS_MUXER, base, head),
                (kind, MUXER, Some(OWN_CODE), base, head),
            ]
        });
        assert_eq!(names(&[cell(1, &counts.concat())]), ["`muxer`, own code"]);
    }

    #[test]
    fn a_flush_too_many_comes_before_what_happens_less_often() {
        use CountKind::Polls;
        let flush = (Polls, MUXER, FLUSHES, 1.0, 2.0);
        let more = [
            flush,
            (Polls, MUXER, None, 2.0, 2.5),
            (Polls, CONNECTION, POLLS_MUXER, 2.0, 2.5),
        ];
        let found = names(&[cell(1, &[flush]), cell(5, &more)]);
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
            (Polls, CONNECTION, POLLS_MUXER, 2.0, 4.0),
            (Polls, MUXER, None, 2.0, 4.0),
            (Iterations, MUXER, None, 3.0, 5.0),
            (Polls, MUXER, FLUSHES, 1.0, 2.0),
        ];
        let found = names(&[cell(1, &counts)]);
        assert_eq!(found, ["`connection`, `muxing.poll_unpin`"]);
    }

    #[test]
    fn work_that_moved_comes_last() {
        use CountKind::{Bytes, Polls};
        let counts = [
            (Bytes, MUXER, Some("a"), 1_053_440.0, 0.0),
            (Bytes, MUXER, Some("b"), 0.0, 1_053_440.0),
            (Polls, CONNECTION, Some("c"), 1.0, 0.5),
        ];
        let mut cells = [cell(1, &counts)];
        // They are not refused if the total of central has not risen.
        for change in &mut cells[0].changes {
            change.is_refused = false;
        }
        let places = places(&cells);
        let found = places.iter().map(|place| (place.name(), place.is_moved));
        let expected = [
            ("`connection`, `c`", false),
            ("`muxer`, `b`", true),
            ("`muxer`, `a`", true),
        ];
        let expected = expected.map(|(name, is_moved)| (name.to_owned(), is_moved));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
