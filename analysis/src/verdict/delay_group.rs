//! Groups of cells by their delay. A budget may have another effect in each of them.

use std::collections::BTreeMap;

use run_format::Rtt;

use crate::summary::{CellSummary, Summary};
use crate::text::joined;

/// The longest round trip that counts as short, as between places of one city.
const SHORT_MS: f64 = 10.0;

/// The cells of a sweep whose delays are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DelayGroup {
    pub(super) delay: Delay,
    /// The shortest round trip that was measured.
    pub(super) shortest: Rtt,
    /// The longest round trip that was measured.
    pub(super) longest: Rtt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Delay {
    None,
    Short,
    Long,
}

impl Delay {
    /// Only the round trip counts. Whether central is busy depends on the machine, so groups by that would differ between
    /// two measurements.
    fn by_rtt(rtt: Rtt) -> Delay {
        match rtt {
            Rtt::ZERO => Delay::None,
            rtt if rtt.ms() <= SHORT_MS => Delay::Short,
            _ => Delay::Long,
        }
    }
}

impl DelayGroup {
    /// Groups the measured cells. The group with the shortest delays comes first.
    pub(super) fn all(summary: &Summary) -> Vec<(DelayGroup, Vec<&CellSummary>)> {
        let mut by_delay = BTreeMap::<Delay, Vec<&CellSummary>>::new();
        for cell in summary.measured_cells() {
            let delay = Delay::by_rtt(cell.cell().rtt_ms);
            by_delay.entry(delay).or_default().push(cell);
        }
        let groups = by_delay.into_iter().filter_map(|(delay, cells)| {
            let rtts = || cells.iter().map(|cell| cell.cell().rtt_ms);
            let group = DelayGroup {
                delay,
                shortest: rtts().min()?,
                longest: rtts().max()?,
            };
            Some((group, cells))
        });
        groups.collect()
    }

    /// Names the delays that were measured, such as "at 25 to 200 ms of delay".
    fn words(&self) -> String {
        let DelayGroup {
            delay,
            shortest,
            longest,
        } = self;
        match delay {
            Delay::None => "without delay".to_owned(),
            _ if shortest == longest => format!("at {longest} ms of delay"),
            _ => format!("at {shortest} to {longest} ms of delay"),
        }
    }
}

/// Names some of the groups of a sweep, such as "without delay". Both lists are in order. The text is empty if `some` is
/// empty or has all groups.
pub(super) fn group_words(some: &[DelayGroup], all: &[DelayGroup]) -> String {
    if some == all {
        return String::new();
    }
    let with_delay = |groups: &[DelayGroup]| -> Vec<DelayGroup> {
        let groups = groups.iter().copied();
        groups.filter(|group| group.delay != Delay::None).collect()
    };
    let [chosen, known] = [some, all].map(with_delay);
    let without = some.iter().filter(|group| group.delay == Delay::None);
    let mut words: Vec<String> = without.map(DelayGroup::words).collect();
    match chosen == known && !known.is_empty() {
        true => words.push("with delay".to_owned()),
        false => words.extend(chosen.iter().map(DelayGroup::words)),
    }
    joined(words, " and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_named_by_the_measured_delays_where_these_tell_them_apart() {
        let group = |delay, shortest, longest| {
            let [shortest, longest] =
                [shortest, longest].map(|ms| Rtt::from_ms(ms).expect("a round trip"));
            DelayGroup {
                delay,
                shortest,
                longest,
            }
        };
        let none = group(Delay::None, 0.0, 0.0);
        let short = group(Delay::Short, 5.0, 5.0);
        let long = group(Delay::Long, 25.0, 200.0);
        let all = [none, short, long];
        for (some, words) in [
            (&[none, short, long][..], ""),
            (&[none], "without delay"),
            (&[short, long], "with delay"),
            (&[short], "at 5 ms of delay"),
            (&[none, long], "without delay and at 25 to 200 ms of delay"),
            (&[], ""),
        ] {
            assert_eq!(group_words(some, &all), words);
        }
        assert_eq!(group_words(&[long], &[none, long]), "with delay");
    }
}
