//! What a bound would do: the recorded iterations of polls, cut into pieces as a budget would cut them.

use std::{collections::BTreeSet, iter};

use poll_probe::{Limit, Record, Site};
use run_format::{Budgets, config::SLOW_NS};

/// The pieces of all polls of a slice, by site and budget.
#[derive(Clone)]
pub(crate) struct Replay(pub(crate) Vec<(Site, Budgets, Pieces)>);

/// What would have been polls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces {
    pub(crate) count: u64,
    pub(crate) slow: u64,
    pub(crate) longest_ns: u64,
}

impl Replay {
    /// Under a fixed list of limits and those that are measured. Without a limit, polls stay whole.
    pub(crate) fn new(measured: impl Iterator<Item = Budgets> + Clone) -> Replay {
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
            budgets.map(move |budgets| (site, budgets, Pieces::default()))
        };
        Replay(Site::BUDGETED.into_iter().flat_map(of_site).collect())
    }

    pub(crate) fn add(&mut self, record: &Record<'_>) {
        // Where loops are not marked, nothing is known of iterations.
        if record.iterations.is_none() {
            return;
        }
        let of_site = self.0.iter_mut().filter(|it| it.0 == record.site);
        for (site, budgets, pieces) in of_site {
            pieces.cut(record, budgets.at(*site).map(|it| it.limit));
        }
    }
}

impl Pieces {
    /// As [`Invocation`](poll_probe::Invocation) applies a budget.
    fn cut(&mut self, record: &Record<'_>, limit: Option<Limit>) {
        let (mut start_ns, mut done) = (0, 0);
        for end in record.iteration_ends {
            let ns = end.offset_ns.saturating_sub(start_ns);
            let is_spent = match limit {
                None | Some(Limit::Coop) => false,
                Some(Limit::Count(count)) => end.iterations - done >= count.get(),
                Some(Limit::Time(time)) => u128::from(ns) >= time.as_nanos(),
            };
            if is_spent {
                self.add(ns);
                (start_ns, done) = (end.offset_ns, end.iterations);
            }
        }
        self.add(record.duration_ns.saturating_sub(start_ns));
    }

    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.slow += u64::from(ns > SLOW_NS);
        self.longest_ns = self.longest_ns.max(ns);
    }
}

#[cfg(test)]
mod tests {
    use std::{task::Context, thread::sleep, time::Duration};

    use poll_probe::{Capacity, Invocation, Mode, Recorder, Variant};

    use super::*;

    /// A poll of `iterations`, the second of which takes a millisecond or more.
    fn poll(iterations: u32) {
        let cx = &mut Context::from_waker(std::task::Waker::noop());
        let mut probe = Invocation::enter(Site::Muxer, &["child"]);
        for iteration in 1..=iterations {
            assert!(probe.iterate(cx).is_ready());
            probe.child(0);
            if iteration == 2 {
                sleep(Duration::from_millis(1));
            }
            probe.own();
        }
    }

    #[test]
    fn polls_are_cut_where_the_budget_would_end_them() {
        let recorder = Recorder::new(Capacity::default());
        recorder.attach();
        Variant {
            budgets: Budgets::NONE,
            mode: Mode::Children,
        }
        .install();
        poll(1);
        poll(5);
        let measured: [Budgets; 2] =
            ["muxer=5", "muxer=1ms,task=coop"].map(|it| it.parse().unwrap());
        let mut replay = Replay::new(measured.into_iter());
        let mut longest_ns = 0;
        recorder.drain(|record| {
            replay.add(record);
            longest_ns = longest_ns.max(record.duration_ns);
        });
        let of = |budgets: &str| {
            let budgets: Budgets = budgets.parse().unwrap();
            let mut found = replay
                .0
                .iter()
                .filter(|it| (it.0, it.1) == (Site::Muxer, budgets));
            let (one, None) = (found.next().unwrap().2, found.next()) else {
                panic!("{budgets} is there twice");
            };
            one
        };
        let whole = of("none");
        assert_eq!((whole.count, whole.longest_ns), (2, longest_ns));
        for (budgets, pieces) in [
            ("muxer=1", 6),
            ("muxer=2", 4),
            ("muxer=3", 3),
            ("muxer=4", 3),
            ("muxer=5", 2),
            ("muxer=1ms", 3),
        ] {
            assert_eq!(of(budgets).count, pieces, "{budgets}");
            // The iteration that is slow by itself is slow under every bound.
            assert!(
                of(budgets).slow >= 1 && of(budgets).longest_ns >= 1_000_000,
                "{budgets}"
            );
        }
        assert_eq!(of("muxer=16"), whole);
        assert!(
            replay
                .0
                .iter()
                .all(|(site, _, pieces)| *site == Site::Muxer || pieces.count == 0)
        );
    }
}
