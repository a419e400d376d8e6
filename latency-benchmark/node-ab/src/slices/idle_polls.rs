//! Counts of polls that found nothing to do.

use std::collections::HashMap;

use poll_probe::{Outcome, Record};
use run_format::Site;

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
    use super::*;

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
        use poll_probe::{Capacity, Invocation, Mode, ProcessBudgets, Recorder, Variant};
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
