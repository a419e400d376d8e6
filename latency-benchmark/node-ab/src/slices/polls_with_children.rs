//! Polls with their children, so that samples of the worker can be matched with them by time, and counts of polls that found
//! nothing to do.

use std::collections::HashMap;
use std::ops::Range;

use poll_probe::{ChildPoll, Outcome, Reading, Record};
use run_format::{EvidenceRow, Site, Text, band_from_ns};

/// A finished poll, with the polls of its children.
pub struct WholePoll {
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

#[derive(Default)]
pub struct WholePolls {
    /// The time in which the slice was measured, once it is over.
    pub window_ns: Range<u64>,
    pub idle: IdlePolls,
    /// The index is `Site as usize`. The polls of a site are in the order in which they began, and do not overlap on one
    /// worker.
    by_site: [Vec<WholePoll>; Site::ALL.len()],
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

impl WholePoll {
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

impl WholePolls {
    /// Adds a poll. Records come in the order in which polls end.
    pub fn add(&mut self, record: &Record<'_>) {
        self.by_site[record.site.number()].push(WholePoll {
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

    pub fn at_site(&self, site: Site) -> &[WholePoll] {
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

/// Counts the idle polls of a slice, which found nothing to do.
///
/// A poll of a connection is idle if its loop was entered once and ended pending, and if the same is true of every poll of
/// the muxer inside it. In a stack whose muxer is no site, the connection's own loop decides.
#[derive(Debug, Default)]
pub struct IdlePolls {
    pub counts: IdleCounts,
    /// The time at which the last busy poll of a muxer began, for each thread. Polls of muxers are not nested, so the poll
    /// that ends last also began last.
    busy_muxer_ns: HashMap<usize, u64>,
}

/// Numbers of polls and of idle polls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleCounts {
    pub connection_polls: u64,
    pub connection_polls_idle: u64,
    pub swarm_polls: u64,
    pub swarm_polls_idle: u64,
}

impl IdlePolls {
    /// Takes every record, in the order in which records are drained. `belongs` says whether the poll is counted in this
    /// slice. Polls of the muxer inside it are looked at even if they belong to another slice.
    pub fn note(&mut self, record: &Record<'_>, belongs: bool) {
        // Without marks in its loop, a poll is neither idle nor busy.
        if let Some(iterations) = record.iterations {
            let is_idle = iterations <= 1 && record.outcome == Outcome::Pending;
            self.add(
                record.site.into(),
                record.thread,
                record.start_ns,
                is_idle,
                belongs,
            );
        }
    }

    fn add(&mut self, site: Site, thread: usize, start_ns: u64, is_idle: bool, belongs: bool) {
        match site {
            Site::Muxer if !is_idle => {
                self.busy_muxer_ns.insert(thread, start_ns);
            }
            Site::Connection if belongs => {
                let busy_ns = self.busy_muxer_ns.get(&thread);
                // A thread's records come in the order in which polls ended. So a poll that came before this one and began
                // after its beginning was inside it.
                let has_busy_muxer = busy_ns.is_some_and(|busy_ns| *busy_ns >= start_ns);
                self.counts.connection_polls += 1;
                self.counts.connection_polls_idle += u64::from(is_idle && !has_busy_muxer);
            }
            Site::Swarm if belongs => {
                self.counts.swarm_polls += 1;
                self.counts.swarm_polls_idle += u64::from(is_idle);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use poll_probe::{Capacity, Recorder};

    use super::*;

    fn poll(site: Site, start_ns: u64, duration_ns: u64, children: &[(u64, u64)]) -> WholePoll {
        WholePoll {
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
        let mut polls = WholePolls::default();
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
        let mut polls = WholePolls::default();
        polls.by_site[Site::Connection as usize] = vec![poll(Site::Connection, 100, 60_000, &[])];
        let from_ns = |polls: &WholePolls| polls.places(200).next().and_then(|place| place.from_ns);
        polls.sampled(99, 5_000);
        polls.sampled(200, 9_000);
        assert_eq!(from_ns(&polls), Some(50_000));
        polls.sampled(300, 2_000);
        assert_eq!(from_ns(&polls), Some(25_000));
    }

    const IDLE: bool = true;
    const BUSY: bool = false;

    type NotedPoll = (Site, usize, u64, bool);

    fn on(thread: usize, site: Site, start_ns: u64, is_idle: bool) -> NotedPoll {
        (site, thread, start_ns, is_idle)
    }

    /// The counts of polls in the order in which they ended, if all of them belong to the slice.
    fn counts(invocations: &[NotedPoll]) -> IdleCounts {
        let mut polls = IdlePolls::default();
        for &(site, thread, start_ns, is_idle) in invocations {
            polls.add(site, thread, start_ns, is_idle, true);
        }
        polls.counts
    }

    fn connections(polls: u64, idle: u64) -> IdleCounts {
        IdleCounts {
            connection_polls: polls,
            connection_polls_idle: idle,
            ..IdleCounts::default()
        }
    }

    #[test]
    fn a_connection_is_idle_if_it_and_every_muxer_poll_inside_it_were() {
        let (muxer, connection) = (Site::Muxer, Site::Connection);
        let alone = [on(0, connection, 10, IDLE), on(0, connection, 20, BUSY)];
        assert_eq!(counts(&alone), connections(2, 1));
        let idle_below = [
            on(0, muxer, 11, IDLE),
            on(0, muxer, 12, IDLE),
            on(0, connection, 10, IDLE),
        ];
        assert_eq!(counts(&idle_below), connections(1, 1));
        let busy_below = [
            on(0, muxer, 11, BUSY),
            on(0, muxer, 12, IDLE),
            on(0, connection, 10, IDLE),
        ];
        assert_eq!(counts(&busy_below), connections(1, 0));
    }

    #[test]
    fn a_muxer_belongs_to_the_poll_around_it_on_its_own_thread() {
        let (muxer, connection) = (Site::Muxer, Site::Connection);
        let one_after_the_other = [
            on(0, muxer, 11, BUSY),
            on(0, connection, 10, IDLE),
            on(0, muxer, 21, IDLE),
            on(0, connection, 20, IDLE),
        ];
        assert_eq!(counts(&one_after_the_other), connections(2, 1));
        let elsewhere = [
            on(1, muxer, 11, BUSY),
            on(0, connection, 10, IDLE),
            on(1, connection, 10, IDLE),
        ];
        assert_eq!(counts(&elsewhere), connections(2, 1));
    }

    #[test]
    fn what_is_inside_counts_even_where_it_belongs_to_another_slice() {
        let mut polls = IdlePolls::default();
        // The first poll is between two slices. The last one began in this slice, but the poll inside it began after.
        polls.add(Site::Connection, 0, 5, IDLE, false);
        polls.add(Site::Muxer, 0, 11, BUSY, false);
        polls.add(Site::Connection, 0, 10, IDLE, true);
        assert_eq!(polls.counts, connections(1, 0));
    }

    #[test]
    fn the_swarm_is_idle_by_itself_and_tasks_are_no_part_of_it() {
        let found = counts(&[
            on(0, Site::Muxer, 11, BUSY),
            on(0, Site::Swarm, 10, IDLE),
            on(0, Site::Swarm, 20, BUSY),
            on(0, Site::Task, 30, IDLE),
        ]);
        let wanted = IdleCounts {
            swarm_polls: 2,
            swarm_polls_idle: 1,
            ..IdleCounts::default()
        };
        assert_eq!(found, wanted);
    }

    #[test]
    fn one_iteration_that_ends_pending_is_what_makes_a_record_idle() {
        use poll_probe::{Invocation, Mode, ProcessBudgets, Variant};
        let recorder = Recorder::new(Capacity {
            records: 100,
            marks: 200,
        });
        recorder.attach();
        let waker = std::task::Waker::noop();
        let mut cx = std::task::Context::from_waker(waker);
        let mut invoke = |iterations: u32, outcome: Outcome| {
            let mut invocation = Invocation::enter(Site::Swarm.into(), &[]);
            for _ in 0..iterations {
                assert!(invocation.iterate(&mut cx).is_ready());
            }
            // An invocation that says nothing is ready.
            if outcome == Outcome::Pending {
                invocation.pending();
            }
        };
        // Whichever variant is in force, the site swarm has no budget.
        Variant {
            budgets: ProcessBudgets::NONE,
            mode: Mode::Minimal,
        }
        .install();
        invoke(1, Outcome::Pending);
        invoke(2, Outcome::Pending);
        invoke(1, Outcome::Ready);
        let mut polls = IdlePolls::default();
        recorder.drain(|record| polls.note(record, true));
        let counts = polls.counts;
        assert_eq!((counts.swarm_polls, counts.swarm_polls_idle), (3, 1));
    }
}
