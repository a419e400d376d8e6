//! Counts connections that come and go, tasks, memory, and tasks that wake themselves. A connection that comes or goes costs a
//! lock and an addition, even in runs that do not report it.

use std::fs;
use std::sync::{Arc, Mutex};

use nix::unistd::{SysconfVar, sysconf};
use node_ab::slices::sums;
use poll_probe::locked;
use tokio::runtime;

use super::self_wakes::SelfWakeCounter;

/// Counts of connections, which the network stack notes.
#[derive(Debug, Default)]
pub struct ConnectionCounts(Mutex<ConnectionFigures>);

impl ConnectionCounts {
    /// A peer is dialled.
    pub fn dialled(&self) {
        locked(&self.0).dials += 1;
    }

    /// A dial failed.
    pub fn dial_failed(&self) {
        locked(&self.0).dial_failures += 1;
    }

    /// A connection opened; `is_first` if its peer had none.
    pub fn opened(&self, is_first: bool) {
        let mut figures = locked(&self.0);
        figures.opened += 1;
        figures.connections += 1;
        figures.peers += u64::from(is_first);
    }

    /// A connection closed; `is_last` if its peer has none now.
    pub fn closed(&self, is_last: bool) {
        let mut figures = locked(&self.0);
        figures.closed += 1;
        figures.connections = figures.connections.saturating_sub(1);
        figures.peers = figures.peers.saturating_sub(is_last.into());
    }
}

/// Counts of events, and the present numbers of connections and peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConnectionFigures {
    pub(crate) dials: u64,
    pub(crate) dial_failures: u64,
    pub(crate) opened: u64,
    pub(crate) closed: u64,
    pub(crate) connections: u64,
    pub(crate) peers: u64,
}
sums!(ConnectionFigures: dials, dial_failures, opened, closed; keeps connections, peers);

/// The counters of self-wakes. They are around the tasks from the beginning, or not at all.
#[derive(Clone, Default)]
pub(crate) struct SelfWakeCounters {
    pub(crate) central: Arc<SelfWakeCounter>,
    pub(crate) tasks: Arc<SelfWakeCounter>,
}

#[derive(Clone)]
pub(crate) struct Activity {
    pub(crate) connections: Arc<ConnectionCounts>,
    pub(crate) self_wakes: Option<SelfWakeCounters>,
    pub(crate) runtime: runtime::Handle,
}

impl Activity {
    /// Switches the counters of self-wakes, if there are any. They have to be on from the first snapshot of a slice to its
    /// last.
    pub(crate) fn count_self_wakes(&self, is_on: bool) {
        if let Some(self_wakes) = &self.self_wakes {
            self_wakes.central.switch(is_on);
            self_wakes.tasks.switch(is_on);
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let self_wakes = self.self_wakes.as_ref();
        Snapshot {
            central_self_wakes: self_wakes.and_then(|counters| counters.central.polls()),
            task_self_wakes: self_wakes.and_then(|counters| counters.tasks.polls()),
            connections: *locked(&self.connections.0),
            tasks: self.runtime.metrics().num_alive_tasks() as u64,
            resident_bytes: resident_bytes(),
        }
    }
}

/// Counts until now, and numbers of things that exist now. The difference of two snapshots has the counts between them, and
/// the numbers of the later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Polls of central's own task that woke it. Absent unless they are counted at the moment.
    pub(crate) central_self_wakes: Option<u64>,
    /// The same for the tasks of connections.
    pub(crate) task_self_wakes: Option<u64>,
    pub(crate) connections: ConnectionFigures,
    /// Tasks that are alive on central's runtime, including those that observe it.
    pub(crate) tasks: u64,
    pub(crate) resident_bytes: Option<u64>,
}
sums!(Snapshot: central_self_wakes, task_self_wakes, connections; keeps tasks, resident_bytes);

/// The resident memory of this process. It is the second number of the file, in pages.
fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    let page = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    Some(pages * u64::try_from(page).ok()?)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::hint::black_box;
    use std::task::Poll;

    use super::*;
    use node_ab::slices::Sums;

    fn runtime() -> runtime::Runtime {
        runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
    }

    fn activity(
        runtime: &runtime::Runtime,
        connections: Arc<ConnectionCounts>,
        self_wakes: Option<SelfWakeCounters>,
    ) -> Activity {
        Activity {
            connections,
            self_wakes,
            runtime: runtime.handle().clone(),
        }
    }

    #[test]
    fn a_slice_has_the_difference_of_what_is_counted_and_the_last_of_what_there_is() {
        let (runtime, counts) = (runtime(), Arc::new(ConnectionCounts::default()));
        let activity = activity(&runtime, Arc::clone(&counts), None);
        counts.dialled();
        counts.opened(true);
        counts.opened(false);
        counts.opened(true);
        let before = activity.snapshot();
        let ConnectionFigures {
            connections, peers, ..
        } = before.connections;
        assert_eq!((connections, peers, before.tasks), (3, 2, 0));
        counts.dialled();
        counts.dialled();
        counts.dial_failed();
        counts.opened(false);
        counts.closed(false);
        counts.closed(true);
        let task = runtime.spawn(std::future::pending::<()>());
        let slice = activity.snapshot().since(before);
        assert_eq!(
            slice,
            Snapshot {
                central_self_wakes: None,
                task_self_wakes: None,
                connections: ConnectionFigures {
                    dials: 2,
                    dial_failures: 1,
                    opened: 1,
                    closed: 2,
                    connections: 2,
                    peers: 1,
                },
                tasks: 1,
                resident_bytes: slice.resident_bytes,
            }
        );
        drop(task);
    }

    #[test]
    fn self_wakes_are_absent_unless_they_were_counted_all_the_time() {
        let (runtime, counters) = (runtime(), SelfWakeCounters::default());
        let activity = activity(&runtime, Arc::default(), Some(counters.clone()));
        let wake_itself = |counter: &Arc<SelfWakeCounter>| {
            let mut polls = 0;
            runtime.block_on(counter.around(poll_fn(|cx| {
                polls += 1;
                cx.waker().wake_by_ref();
                if polls < 3 {
                    Poll::Pending
                } else {
                    Poll::Ready(())
                }
            })));
        };
        let off = activity.snapshot();
        activity.count_self_wakes(true);
        let before = activity.snapshot();
        assert_eq!(before.since(off).task_self_wakes, None);
        wake_itself(&counters.tasks);
        let slice = activity.snapshot().since(before);
        assert_eq!(
            (slice.central_self_wakes, slice.task_self_wakes),
            (Some(0), Some(3))
        );
        activity.count_self_wakes(false);
        wake_itself(&counters.central);
        assert_eq!(activity.snapshot().central_self_wakes, None);
    }

    #[test]
    fn memory_in_use_is_resident() {
        const BYTES: usize = 64 << 20;
        let before = resident_bytes().expect("Linux says");
        let memory = black_box(vec![1_u8; BYTES]);
        let now = resident_bytes().expect("Linux says");
        // Other tests may have freed some meanwhile, but hold nothing of that size.
        assert!(now > before + BYTES as u64 / 2, "{before}, then {now}");
        drop(memory);
    }
}
