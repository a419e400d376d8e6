//! Compares the counts of the base and the head in a cell.

use std::collections::BTreeMap;

use program::in_one_line;
use run_format::{CountKind, CountName, Site};

use super::args::Allowance;
use super::change::{Change, Count, Counts, changes, rounded};
use super::measure::{ATTEMPTS, MeasuredCell, SIDES, agreed};

/// The result for a cell.
pub(super) enum Compared {
    /// A program failed, or was interrupted.
    Failed(String),
    /// Two runs of one program differ. The text says in which count.
    NotDeterministic(String),
    /// The counts that changed.
    Changes(Vec<Change>),
}

pub(super) fn compare(measured: &MeasuredCell, allow: &[Allowance]) -> Compared {
    match [0, 1].map(|side| counts_of(measured, side)) {
        [Ok(base), Ok(head)] => Compared::Changes(changes(base, &with_names_of(base, head), allow)),
        [Err(without_counts), _] | [_, Err(without_counts)] => without_counts,
    }
}

/// The counts of a program on which two of its runs agree.
fn counts_of(measured: &MeasuredCell, side: usize) -> Result<&Counts, Compared> {
    let (label, attempts) = (SIDES[side], &measured.sides[side]);
    if attempts.len() < ATTEMPTS {
        return Err(Compared::Failed("not counted".to_owned()));
    }
    if let Some(error) = attempts.iter().find_map(|attempt| attempt.as_ref().err()) {
        return Err(Compared::Failed(format!("{label}: {}", in_one_line(error))));
    }
    agreed(attempts).map_err(|[one, other]| {
        let differing = changes(one, other, &[]);
        let texts = differing.iter().map(|change| {
            let [one, other] = [change.base, change.head].map(rounded);
            format!("{} {one} and {other} per request", change.name)
        });
        let first = texts.take(1).collect::<String>();
        let runs = attempts.len();
        Compared::NotDeterministic(format!("{label}, {runs} runs: {first}"))
    })
}

/// The counts of the head, with the base's names of children. A child is named by the code that polls it, so a refactoring
/// may rename it. A new child with the same counts as a missing one gets the missing one's name.
fn with_names_of(base: &Counts, head: &Counts) -> Counts {
    let [base_children, head_children] = [base, head].map(by_child);
    let is_gone = |(child, _): &(&Child<'_>, &CountsOfChild)| !head_children.contains_key(*child);
    let mut gone: Vec<_> = base_children.iter().filter(is_gone).collect();
    let mut old_names = BTreeMap::new();
    for (child, counts) in &head_children {
        let is_same = |(other, other_counts): &(&Child<'_>, &CountsOfChild)| {
            other.site == child.site && *other_counts == counts
        };
        if !base_children.contains_key(child)
            && let Some(index) = gone.iter().position(is_same)
        {
            old_names.insert(*child, gone.swap_remove(index).0.name);
        }
    }
    let renamed = head.iter().map(|(name, count)| {
        let old_name = Child::of(name).and_then(|child| old_names.get(&child).copied());
        let child = old_name.map(str::to_owned).or_else(|| name.child.clone());
        (CountName { child, ..*name }, *count)
    });
    renamed.collect()
}

/// A child of a site, or the code of the site outside of its children.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Child<'a> {
    site: Site,
    name: &'a str,
}

impl Child<'_> {
    fn of(name: &CountName) -> Option<Child<'_>> {
        let (site, name) = name.site.zip(name.child.as_deref())?;
        Some(Child { site, name })
    }
}

type CountsOfChild = Vec<(CountKind, Count)>;

fn by_child(counts: &Counts) -> BTreeMap<Child<'_>, CountsOfChild> {
    let mut children = BTreeMap::<_, CountsOfChild>::new();
    for (name, count) in counts {
        if let Some(child) = Child::of(name) {
            children.entry(child).or_default().push((name.kind, *count));
        }
    }
    children
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(list: &[(CountKind, &str, u64)]) -> Counts {
        let named = |(kind, child, count): &(CountKind, &str, u64)| {
            let (kind, site, child) = (*kind, Some(Site::Muxer), Some((*child).to_owned()));
            let count = Count {
                count: *count,
                requests: 4,
            };
            (CountName { kind, site, child }, count)
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
