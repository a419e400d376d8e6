//! Replays recorded polls under bounds that were not in force: cuts their iterations into pieces as a budget would.

use std::collections::BTreeSet;
use std::iter;

use poll_probe::{IterationEnd, Limit, Record};
use run_format::{Budgets, Site};

use crate::slices::PollSums;

/// The pieces of all polls of a slice, by site and budget.
#[derive(Clone)]
pub struct Replay(pub Vec<Pieces>);

/// The pieces into which a budget would cut the polls of a site.
#[derive(Clone)]
pub struct Pieces {
    pub site: Site,
    pub budget: Budgets,
    pub sums: PollSums,
}

impl Replay {
    /// Replays under a fixed list of limits, under the limits of the measured budgets, and without a limit.
    pub fn new(measured: impl Iterator<Item = Budgets> + Clone) -> Replay {
        const LIMITS: [&str; 13] = [
            "1", "2", "3", "4", "6", "8", "16", "32", "10us", "25us", "50us", "100us", "200us",
        ];
        let budgets_of_site = |site: Site| {
            let measured = measured
                .clone()
                .filter_map(move |budgets| Some(budgets.at(site)?.limit))
                .filter(|limit| *limit != Limit::Coop)
                .map(|limit| limit.to_string());
            let mut limits: BTreeSet<String> = measured.collect();
            limits.extend(LIMITS.map(str::to_owned));
            let budget = move |limit| format!("{site}={limit}").parse().expect("a limit");
            let budgets = iter::once(Budgets::NONE).chain(limits.into_iter().map(budget));
            budgets.map(move |budget| Pieces {
                site,
                budget,
                sums: PollSums::default(),
            })
        };
        let budgeted = Site::BUDGETED.into_iter();
        let looping = budgeted.filter(|site| !site.is_of_quic());
        Replay(looping.flat_map(budgets_of_site).collect())
    }

    pub fn add(&mut self, record: &Record<'_>) {
        // A poll whose loop is not marked has unknown iterations.
        if record.iterations.is_none() {
            return;
        }
        for Pieces { site, budget, sums } in &mut self.0 {
            if record.site == *site {
                let limit = budget.at(*site).map(|budget| budget.limit);
                cut(sums, record.iteration_ends, record.own_ns(), limit);
            }
        }
    }
}

/// Adds the pieces of one poll to `pieces`. Unlike in [`Invocation`](poll_probe::Invocation), a limit in time is a limit of
/// own time here.
fn cut(pieces: &mut PollSums, ends: &[IterationEnd], own_ns: u64, limit: Option<Limit>) {
    let (mut start_ns, mut done) = (0, 0);
    for end in ends {
        let ns = end.own_ns.saturating_sub(start_ns);
        let is_spent = match limit {
            None | Some(Limit::Coop) => false,
            Some(Limit::Count(count)) => end.iterations - done >= count.get(),
            Some(Limit::Time(time)) => u128::from(ns) >= time.as_nanos(),
        };
        if is_spent {
            pieces.add(ns);
            (start_ns, done) = (end.own_ns, end.iterations);
        }
    }
    pieces.add(own_ns.saturating_sub(start_ns));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_is_cut_where_the_budget_would_end_it() {
        const MS: u64 = 1_000_000;
        // Five iterations, the second of which takes a millisecond. The fourth ends where no budget can end a poll.
        let ends = [(1, 10_000), (2, MS + 10_000), (3, MS + 20_000)]
            .map(|(iterations, own_ns)| IterationEnd { iterations, own_ns });
        for (budget, count, slow, longest_ns) in [
            ("none", 1, 1, MS + 90_000),
            ("muxer=1", 4, 2, MS),
            ("muxer=2", 2, 2, MS + 10_000),
            ("muxer=3", 2, 2, MS + 20_000),
            ("muxer=4", 1, 1, MS + 90_000),
            ("muxer=10us", 4, 2, MS),
            ("muxer=11us", 2, 2, MS + 10_000),
            ("muxer=2ms", 1, 1, MS + 90_000),
        ] {
            let budgets: Budgets = budget.parse().expect("a budget");
            let mut pieces = PollSums::default();
            let limit = budgets.at(Site::Muxer).map(|budget| budget.limit);
            cut(&mut pieces, &ends, MS + 90_000, limit);
            let cut = (pieces.polls, pieces.slow, pieces.longest_ns);
            assert_eq!(cut, (count, slow, longest_ns), "{budget}");
            assert_eq!(pieces.ns, MS + 90_000);
            assert!(pieces.beyond_ns <= MS + 40_000, "{budget}");
        }
    }

    #[test]
    fn measured_limits_are_replayed_too_and_none_twice() {
        let measured = ["muxer=5/deferred", "muxer=8", "muxer=1ms,task=coop"]
            .map(|budgets| budgets.parse().expect("budgets"));
        let Replay(pieces) = Replay::new(measured.into_iter());
        let in_muxer = pieces.iter().filter(|pieces| pieces.site == Site::Muxer);
        let mut budgets: Vec<String> = in_muxer.map(|pieces| pieces.budget.to_string()).collect();
        assert_eq!(pieces.len(), 3 * 14 + 2);
        assert!(
            ["none", "muxer=5", "muxer=1ms"]
                .iter()
                .all(|budget| budgets.contains(&(*budget).to_owned()))
        );
        budgets.sort();
        budgets.dedup();
        assert_eq!(budgets.len(), 14 + 2);
    }
}
