//! Compares base and head in a cell, once two attempts of each program agree.

use std::collections::BTreeMap;

use program::in_one_line;
use run_format::{CountKind, CountName, CountPlace};

use super::args::Allowance;
use super::change::{Change, Count, CountsByName, changes, rounded};
use super::measure::{CountedCell, PLANNED_ATTEMPTS, agreed};
use super::sides::Side;

/// The result for a cell.
pub(super) enum Compared {
    /// A program failed, or was interrupted.
    Failed(String),
    /// No two attempts of one program agree. The text says in which count.
    NotDeterministic(String),
    /// The counts that changed.
    Changes(Vec<Change>),
}

pub(super) fn compare(counted: &CountedCell, allow: &[Allowance]) -> Compared {
    match Side::BOTH.map(|side| counts_of(counted, side)) {
        [Ok(base), Ok(head)] => Compared::Changes(changes(base, &with_names_of(base, head), allow)),
        [Err(without_counts), _] | [_, Err(without_counts)] => without_counts,
    }
}

/// The counts of a program on which two of its attempts agree.
fn counts_of(counted: &CountedCell, side: Side) -> Result<&CountsByName, Compared> {
    let attempts = &counted.attempts[side];
    if attempts.len() < PLANNED_ATTEMPTS {
        return Err(Compared::Failed("not counted".to_owned()));
    }
    if let Some(error) = attempts.iter().find_map(|attempt| attempt.as_ref().err()) {
        return Err(Compared::Failed(format!("{side}: {}", in_one_line(error))));
    }
    agreed(attempts).map_err(|[one, other]| {
        let differing = changes(one, other, &[]);
        let texts = differing.iter().map(|change| {
            let [one, other] = [change.base, change.head].map(rounded);
            format!("{} {one} and {other} per request", change.name)
        });
        let first = texts.take(1).collect::<String>();
        let count = attempts.len();
        Compared::NotDeterministic(format!("{side}, {count} runs: {first}"))
    })
}

/// The counts of the head, with the base's names of children. A child is named by the code that polls it, so a refactoring
/// may rename it. A new child with the same counts as a missing one gets the missing one's name.
fn with_names_of(base: &CountsByName, head: &CountsByName) -> CountsByName {
    let [base_children, head_children] = [base, head].map(by_child);
    let is_gone =
        |(child, _): &(&&CountPlace, &CountsOfChild)| !head_children.contains_key(**child);
    let mut gone: Vec<_> = base_children.iter().filter(is_gone).collect();
    let mut old_names = BTreeMap::new();
    for (child, counts) in &head_children {
        let is_same = |(other, other_counts): &(&&CountPlace, &CountsOfChild)| {
            other.site() == child.site() && *other_counts == counts
        };
        if !base_children.contains_key(child)
            && let Some(index) = gone.iter().position(is_same)
        {
            old_names.insert(*child, *gone.swap_remove(index).0);
        }
    }
    let renamed = head.iter().map(|(CountName { kind, place }, count)| {
        let place = old_names.get(place).copied().unwrap_or(place).clone();
        (CountName { kind: *kind, place }, *count)
    });
    renamed.collect()
}

type CountsOfChild = Vec<(CountKind, Count)>;

fn by_child(counts: &CountsByName) -> BTreeMap<&CountPlace, CountsOfChild> {
    let mut children = BTreeMap::<_, CountsOfChild>::new();
    for (CountName { kind, place }, count) in counts {
        if matches!(place, CountPlace::Child(..)) {
            children.entry(place).or_default().push((*kind, *count));
        }
    }
    children
}

#[cfg(test)]
mod tests {
    use run_format::Site;

    use super::*;

    fn counts(list: &[(CountKind, &str, u64)]) -> CountsByName {
        let named = |(kind, child, count): &(CountKind, &str, u64)| {
            let place = CountPlace::Child(Site::Muxer, (*child).to_owned());
            let count = Count {
                count: *count,
                requests: 4,
            };
            (CountName { kind: *kind, place }, count)
        };
        list.iter().map(named).collect()
    }

    #[test]
    fn a_child_with_a_new_name_is_the_same_where_its_counts_are() {
        use CountKind::{Bytes, Polls};
        let base = counts(&[(Polls, "a", 8), (Bytes, "a", 3), (Polls, "b", 8)]);
        let renamed = counts(&[(Polls, "c", 8), (Bytes, "c", 3), (Polls, "b", 8)]);
        assert_eq!(with_names_of(&base, &renamed), base);
        for changed in [
            [(Polls, "c", 9), (Bytes, "c", 3), (Polls, "b", 8)],
            [(Polls, "a", 8), (Bytes, "c", 3), (Polls, "b", 8)],
        ] {
            let changed = counts(&changed);
            assert_eq!(with_names_of(&base, &changed), changed);
        }
    }
}
