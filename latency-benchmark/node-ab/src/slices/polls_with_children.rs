//! Polls with their children, so that samples of the worker can be matched with them by time.

use std::ops::Range;

use poll_probe::{ChildPoll, Outcome, Reading, Record};
use run_format::{EvidenceRow, Site, Text, band_from_ns};

use crate::slices::IdlePolls;

/// A finished poll, with the polls of its children.
pub struct PollWithChildren {
    pub site: Site,
    pub start_ns: u64,
    pub duration_ns: u64,
    /// The part of it in which the thread was off the CPU.
    pub off_cpu_ns: u64,
    /// The part of it in which samples were taken.
    pub sampled_ns: u64,
    pub iterations: Option<u32>,
    pub outcome: Outcome,
    /// The polls of children, in the order in which they began.
    pub children: Vec<ChildPoll>,
    pub readings: Vec<Reading>,
}

/// The polls of a slice, by site.
#[derive(Default)]
pub struct PollsWithChildren {
    /// The time in which the slice was measured, once it is over.
    pub window_ns: Range<u64>,
    pub idle: IdlePolls,
    /// The index is `Site as usize`. The polls of a site are in the order in which they began, and do not overlap on one
    /// worker.
    by_site: [Vec<PollWithChildren>; Site::ALL.len()],
}

/// The place in the polls where something happened. If that was outside of all polls, every field is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PollPlace {
    pub site: Option<Site>,
    /// Absent if it happened in the poll function's own code.
    pub child: Option<&'static str>,
    /// The band of the poll's duration, without the time that samples took.
    pub from_ns: Option<u64>,
}

impl PollPlace {
    /// A row which says that `what` happened here `count` times. Some things have an amount, such as bytes, which is their
    /// sum.
    pub fn row(
        self,
        slice: u32,
        what: impl Into<Text>,
        count: u64,
        amount: Option<u64>,
    ) -> EvidenceRow {
        EvidenceRow {
            slice,
            site: self.site,
            child: self.child.map(Into::into),
            from_ns: self.from_ns,
            what: what.into(),
            count,
            amount,
        }
    }
}

impl PollWithChildren {
    pub fn end_ns(&self) -> u64 {
        self.start_ns + self.duration_ns
    }

    /// The own time of the poll, without the time of samples.
    pub fn own_ns(&self) -> u64 {
        let other_ns = self.off_cpu_ns + self.sampled_ns;
        self.duration_ns.saturating_sub(other_ns)
    }

    /// The place of what happens in `child` of this poll, or in its own code.
    pub fn place(&self, child: Option<&'static str>) -> PollPlace {
        PollPlace {
            site: Some(self.site),
            child,
            from_ns: Some(band_from_ns(self.own_ns())),
        }
    }

    fn child_at(&self, at_ns: u64) -> Option<&'static str> {
        let offset = at_ns.checked_sub(self.start_ns)?;
        let children = &self.children;
        let begun = children.partition_point(|child| child.offset_ns <= offset);
        let last = &children[begun.checked_sub(1)?];
        (offset < last.offset_ns + last.duration_ns).then_some(last.child)
    }
}

impl PollsWithChildren {
    /// Adds a poll. Records come in the order in which polls end.
    pub fn add(&mut self, record: &Record<'_>) {
        self.by_site[record.site.number()].push(PollWithChildren {
            site: record.site.into(),
            start_ns: record.start_ns,
            duration_ns: record.duration_ns,
            off_cpu_ns: record.off_cpu_ns,
            sampled_ns: 0,
            iterations: record.iterations,
            outcome: record.outcome,
            children: record.children.to_vec(),
            readings: record.readings.to_vec(),
        });
    }

    pub fn at_site(&self, site: Site) -> &[PollWithChildren] {
        &self.by_site[site as usize]
    }

    /// The index of the poll of `site` that was under way at that time.
    fn index_at(&self, site: Site, at_ns: u64) -> Option<usize> {
        let polls = self.at_site(site);
        let begun = polls.partition_point(|poll| poll.start_ns <= at_ns);
        let last = begun.checked_sub(1)?;
        (at_ns < polls[last].end_ns()).then_some(last)
    }

    /// Notes that a sample was taken at `at_ns`, and how long that took. Otherwise a poll could be slow because it was
    /// sampled.
    pub fn sampled(&mut self, at_ns: u64, took_ns: u64) {
        for site in Site::ALL {
            if let Some(poll) = self.index_at(site, at_ns) {
                self.by_site[site as usize][poll].sampled_ns += took_ns;
            }
        }
    }

    /// The places that were under way at a time. Polls of several sites may be, one inside the other. If there is none, the
    /// place is outside of all polls.
    pub fn places(&self, at_ns: u64) -> impl Iterator<Item = PollPlace> {
        let place = move |site| {
            let poll = &self.at_site(site)[self.index_at(site, at_ns)?];
            Some(poll.place(poll.child_at(at_ns)))
        };
        let mut inside = Site::ALL.into_iter().filter_map(place).peekable();
        let outside = inside.peek().is_none().then_some(PollPlace::default());
        inside.chain(outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(
        site: Site,
        start_ns: u64,
        duration_ns: u64,
        children: &[(u64, u64)],
    ) -> PollWithChildren {
        PollWithChildren {
            site,
            start_ns,
            duration_ns,
            off_cpu_ns: 0,
            sampled_ns: 0,
            iterations: Some(1),
            outcome: Outcome::Ready,
            children: children
                .iter()
                .map(|&(offset_ns, duration_ns)| ChildPoll {
                    child: "child",
                    iteration: 1,
                    offset_ns,
                    duration_ns,
                    off_cpu_ns: 0,
                })
                .collect(),
            readings: Vec::new(),
        }
    }

    #[test]
    fn a_moment_is_in_every_site_that_was_being_polled_and_in_one_child_of_it() {
        let mut polls = PollsWithChildren::default();
        polls.by_site[Site::Connection as usize] = vec![
            poll(Site::Connection, 100, 60_000, &[(10, 20), (50, 59_000)]),
            poll(Site::Connection, 70_000, 10, &[]),
        ];
        polls.by_site[Site::Muxer as usize] = vec![poll(Site::Muxer, 155, 50, &[])];
        let at = |at_ns| polls.places(at_ns).collect::<Vec<_>>();
        let connection = |child| PollPlace {
            site: Some(Site::Connection),
            child,
            from_ns: Some(50_000),
        };
        let muxer = PollPlace {
            site: Some(Site::Muxer),
            child: None,
            from_ns: Some(0),
        };
        assert_eq!(at(105), [connection(None)]);
        assert_eq!(at(110), [connection(Some("child"))]);
        assert_eq!(at(130), [connection(None)]);
        assert_eq!(at(160), [connection(Some("child")), muxer]);
        for outside in [0, 99, 60_100, 70_010] {
            assert_eq!(at(outside), [PollPlace::default()], "{outside}");
        }
    }

    #[test]
    fn no_poll_is_slow_because_it_was_sampled() {
        let mut polls = PollsWithChildren::default();
        polls.by_site[Site::Connection as usize] = vec![poll(Site::Connection, 100, 60_000, &[])];
        let from_ns =
            |polls: &PollsWithChildren| polls.places(200).next().and_then(|place| place.from_ns);
        polls.sampled(99, 5_000);
        polls.sampled(200, 9_000);
        assert_eq!(from_ns(&polls), Some(50_000));
        polls.sampled(300, 2_000);
        assert_eq!(from_ns(&polls), Some(25_000));
    }
}
