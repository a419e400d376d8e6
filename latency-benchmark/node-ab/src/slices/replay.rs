//! What a bound would do: the recorded iterations of polls, cut into pieces as a budget would cut them.

use std::collections::BTreeSet;
use std::iter;

use poll_probe::{IterationEnd, Limit, Record};
use run_format::{Budgets, Site};

use crate::slices::PollSums;

/// The pieces of all polls of a slice, by site and budget.
#[derive(Clone)]
pub struct Replay(pub Vec<(Site, Budgets, PollSums)>);

impl Replay {
    /// Under a fixed list of limits and those that are measured. Without a limit, polls stay whole.
    pub fn new(measured: impl Iterator<Item = Budgets> + Clone) -> Replay {
        const LIMITS: [&str; 13] = [
            "1", "2", "3", "4", "6", "8", "16", "32", "10us", "25us", "50us", "100us", "200us",
        ];
        let of_site = |site: Site| {
            let measured = measured
                .clone()
                .filter_map(move |it| Some(it.at(site)?.limit));
            let measured = measured.filter(|limit| *limit != Limit::Coop);
            let limits = LIMITS.map(str::to_owned).into_iter();
            let limits: BTreeSet<String> =
                limits.chain(measured.map(|it| it.to_string())).collect();
            let budget = move |limit| format!("{site}={limit}").parse().expect("a limit");
            let budgets = iter::once(Budgets::NONE).chain(limits.into_iter().map(budget));
            budgets.map(move |budgets| (site, budgets, PollSums::default()))
        };
        let looping = Site::BUDGETED.into_iter().filter(|it| !it.is_of_quic());
        Replay(looping.flat_map(of_site).collect())
    }

    pub fn add(&mut self, record: &Record<'_>) {
        // Where loops are not marked, nothing is known of iterations.
        if record.iterations.is_none() {
            return;
        }
        let of_site = self.0.iter_mut().filter(|it| record.site == it.0);
        for (site, budgets, pieces) in of_site {
            let limit = budgets.at(*site).map(|budget| budget.limit);
            cut(pieces, record.iteration_ends, record.own_ns(), limit);
        }
    }
}

/// Like [`Invocation`](poll_probe::Invocation), except that a limit in time counts own time here.
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
        let ends = [(1, 10_000), (2, MS + 10_000), (3, MS + 20_000)];
        let ends = ends.map(|(iterations, own_ns)| IterationEnd { iterations, own_ns });
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
            let limit = budgets.at(Site::Muxer).map(|it| it.limit);
            cut(&mut pieces, &ends, MS + 90_000, limit);
            let cut = (pieces.polls, pieces.slow, pieces.longest_ns);
            assert_eq!(cut, (count, slow, longest_ns), "{budget}");
            assert_eq!(pieces.ns, MS + 90_000);
            assert!(pieces.beyond_ns <= MS + 40_000, "{budget}");
        }
    }

    #[test]
    fn measured_limits_are_replayed_too_and_none_twice() {
        let measured = ["muxer=5/deferred", "muxer=8", "muxer=1ms,task=coop"];
        let measured = measured.map(|it| it.parse().expect("budgets"));
        let Replay(bounds) = Replay::new(measured.into_iter());
        let of_muxer = bounds.iter().filter(|it| it.0 == Site::Muxer);
        let mut budgets: Vec<String> = of_muxer.map(|it| it.1.to_string()).collect();
        assert_eq!(bounds.len(), 3 * 14 + 2);
        assert!(
            ["none", "muxer=5", "muxer=1ms"]
                .iter()
                .all(|it| budgets.contains(&(*it).to_owned()))
        );
        budgets.sort();
        budgets.dedup();
        assert_eq!(budgets.len(), 14 + 2);
    }
}
