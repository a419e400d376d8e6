//! Compares the counts of the base and the head in a cell.

use std::collections::BTreeMap;

use run_format::{CountKind, CountName, Site};

use super::args::Allowance;
use super::change::{Change, Counts, changes, rounded};
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
    let mut counts_of_sides = Vec::new();
    for (attempts, label) in measured.sides.iter().zip(SIDES) {
        if attempts.len() < ATTEMPTS {
            return Compared::Failed("not counted".to_owned());
        }
        if let Some(error) = attempts.iter().find_map(|attempt| attempt.as_ref().err()) {
            return Compared::Failed(format!("{label}: {error:#}"));
        }
        match agreed(attempts) {
            Ok(counts) => counts_of_sides.push(counts),
            Err([one, other]) => {
                let differing = changes(one, other, &[]);
                let texts = differing.iter().map(|change| {
                    let [one, other] = [change.base, change.head].map(rounded);
                    format!("{} {one} and {other} per request", change.name)
                });
                let first = texts.take(1).collect::<String>();
                return Compared::NotDeterministic(format!(
                    "{label}, {} runs: {first}",
                    attempts.len()
                ));
            }
        }
    }
    let (base, head) = (counts_of_sides[0], counts_of_sides[1]);
    Compared::Changes(changes(base, &with_names_of(base, head), allow))
}

/// The counts of the head, with the base's names of children. A child is named by the code that polls it, so a refactoring
/// may rename it. A new child with the same counts as a missing one gets the missing one's name.
fn with_names_of(base: &Counts, head: &Counts) -> Counts {
    let [of_base, of_head] = [base, head].map(by_child);
    let gone = of_base
        .iter()
        .filter(|entry| !of_head.contains_key(entry.0));
    let mut gone: Vec<_> = gone.collect();
    let mut names = BTreeMap::new();
    for (child, counts) in of_head
        .iter()
        .filter(|entry| !of_base.contains_key(entry.0))
    {
        let is_same = |other: &(&Child, &Vec<_>)| other.0.0 == child.0 && other.1 == counts;
        if let Some(at) = gone.iter().position(is_same) {
            names.insert(*child, gone.swap_remove(at).0.1);
        }
    }
    let named = head.iter().map(|(name, count)| {
        let of_site = name.site.zip(name.child.as_deref());
        let renamed = of_site.map(|child| names.get(&child).copied().unwrap_or(child.1).to_owned());
        let child = renamed.or_else(|| name.child.clone());
        let name = CountName { child, ..*name };
        (name, *count)
    });
    named.collect()
}

/// A child: its site and its name there.
type Child<'a> = (Site, &'a str);

/// The counts of a child by kind, each with the number of requests in which it was counted.
type OfChild = Vec<(CountKind, (u64, u64))>;

fn by_child(counts: &Counts) -> BTreeMap<Child<'_>, OfChild> {
    let mut children = BTreeMap::<_, OfChild>::new();
    for (name, count) in counts {
        if let Some(child) = name.site.zip(name.child.as_deref()) {
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
            (CountName { kind, site, child }, (*count, 4))
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
