//! Polls that found nothing to do: somebody was woken for nothing.

use std::collections::HashMap;

use poll_probe::{Outcome, Record};
use run_format::Site;

/// Counts them among the records of a slice.
///
/// A poll of a connection is idle if its loop was entered once and ended pending, and so was the loop of
/// every poll of the muxer inside it. Where the muxer is no site, the connection's own loop decides.
#[derive(Debug, Default)]
pub struct IdlePolls {
    pub counts: IdleCounts,
    /// By thread, when the last poll of a muxer began that had something to do. Muxers are not polled
    /// inside each other, so none of a poll that ends later began later.
    busy_muxer_ns: HashMap<usize, u64>,
}

/// Polls, and those of them that were idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleCounts {
    pub connection_polls: u64,
    pub connection_polls_idle: u64,
    pub swarm_polls: u64,
    pub swarm_polls_idle: u64,
}

impl IdlePolls {
    /// To be called with every record, in the order that they are drained in: what is inside a poll is
    /// looked at, even where it does not itself belong to the slice that the poll does.
    pub fn note(&mut self, record: &Record<'_>, belongs: bool) {
        // Where the loops are not marked, nobody knows.
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
                // A thread's records come in the order they ended, so what began after this one was inside it.
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

    const IDLE: bool = true;
    const BUSY: bool = false;

    type NotedPoll = (Site, usize, u64, bool);

    fn on(thread: usize, site: Site, start_ns: u64, is_idle: bool) -> NotedPoll {
        (site, thread, start_ns, is_idle)
    }

    /// In the order they ended, all of them in the slice.
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
        // Between two slices, then one that began in the slice and whose muxer did after it.
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
        use poll_probe::{Budgets, Invocation, Mode, Variant};
        let recorder = Recorder::new(Capacity {
            records: 100,
            spans: 100,
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
            budgets: Budgets::NONE,
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
