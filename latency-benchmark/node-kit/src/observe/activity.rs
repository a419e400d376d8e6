//! What goes on in central around its polls: connections that come and go, tasks, memory, and tasks that
//! wake themselves. Where nothing of it is asked for, a connection that comes or goes costs an addition.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::unistd::{SysconfVar, sysconf};
use slices::sums;
use tokio::runtime;

use super::self_wakes::SelfWakeCounter;

/// What became of connections. The network stack notes it.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    dials: AtomicU64,
    dial_failures: AtomicU64,
    opened: AtomicU64,
    closed: AtomicU64,
    peers_met: AtomicU64,
    peers_lost: AtomicU64,
}

impl ConnectionCounts {
    /// A peer is dialled.
    pub fn dialled(&self) {
        add_one(&self.dials);
    }

    /// A dial failed.
    pub fn dial_failed(&self) {
        add_one(&self.dial_failures);
    }

    /// A connection opened; `is_first` if its peer had none.
    pub fn opened(&self, is_first: bool) {
        add_one(&self.opened);
        if is_first {
            add_one(&self.peers_met);
        }
    }

    /// A connection closed; `is_last` if its peer has none now.
    pub fn closed(&self, is_last: bool) {
        add_one(&self.closed);
        if is_last {
            add_one(&self.peers_lost);
        }
    }
}

fn add_one(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// The counters of self-wakes, where there are any: they are around the tasks from the beginning, or not at all.
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
    /// To be switched on before the first snapshot of a slice and off after its last one. Does nothing
    /// where central was not told to count them.
    pub(crate) fn count_self_wakes(&self, is_on: bool) {
        if let Some(self_wakes) = &self.self_wakes {
            self_wakes.central.switch(is_on);
            self_wakes.tasks.switch(is_on);
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let self_wakes = self.self_wakes.as_ref();
        let links = &self.connections;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        // What ends is read before what began, so that no more can have ended than began.
        let (closed, peers_lost) = (count(&links.closed), count(&links.peers_lost));
        let (opened, peers_met) = (count(&links.opened), count(&links.peers_met));
        Snapshot {
            central_self_wakes: self_wakes.and_then(|counters| counters.central.polls()),
            task_self_wakes: self_wakes.and_then(|counters| counters.tasks.polls()),
            dials: count(&links.dials),
            connections_opened: opened,
            connections_closed: closed,
            dial_failures: count(&links.dial_failures),
            connections: opened.saturating_sub(closed),
            peers: peers_met.saturating_sub(peers_lost),
            tasks: self.runtime.metrics().num_alive_tasks() as u64,
            resident_bytes: resident_bytes(),
        }
    }
}

/// What was counted until now, and what there is now. The difference of two has what was counted between them, and what
/// there is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Polls of central's own task. Absent unless they are counted at the moment.
    pub(crate) central_self_wakes: Option<u64>,
    /// The same for the tasks of connections.
    pub(crate) task_self_wakes: Option<u64>,
    pub(crate) dials: u64,
    pub(crate) connections_opened: u64,
    pub(crate) connections_closed: u64,
    pub(crate) dial_failures: u64,
    pub(crate) connections: u64,
    pub(crate) peers: u64,
    /// Alive on central's runtime, those that observe it included.
    pub(crate) tasks: u64,
    pub(crate) resident_bytes: Option<u64>,
}
sums!(Snapshot: central_self_wakes, task_self_wakes, dials, connections_opened, connections_closed, dial_failures);

/// By the names in `activity.csv`.
pub(crate) type Figures = Vec<(&'static str, Option<u64>)>;

impl Snapshot {
    /// What was counted.
    pub(crate) fn counts(&self) -> Figures {
        vec![
            ("central_self_wakes", self.central_self_wakes),
            ("task_self_wakes", self.task_self_wakes),
            ("dials", Some(self.dials)),
            ("connections_opened", Some(self.connections_opened)),
            ("connections_closed", Some(self.connections_closed)),
            ("dial_failures", Some(self.dial_failures)),
        ]
    }

    /// What there is now.
    pub(crate) fn gauges(&self) -> Figures {
        vec![
            ("connections", Some(self.connections)),
            ("peers", Some(self.peers)),
            ("tasks", Some(self.tasks)),
            ("resident_bytes", self.resident_bytes),
        ]
    }
}

/// Of this process; the second number of the file, in pages.
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
    use slices::Sums;

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
        let (runtime, links) = (runtime(), Arc::new(ConnectionCounts::default()));
        let activity = activity(&runtime, Arc::clone(&links), None);
        links.dialled();
        links.opened(true);
        links.opened(false);
        links.opened(true);
        let before = activity.snapshot();
        assert_eq!((before.connections, before.peers, before.tasks), (3, 2, 0));
        links.dialled();
        links.dialled();
        links.dial_failed();
        links.opened(false);
        links.closed(false);
        links.closed(true);
        let task = runtime.spawn(std::future::pending::<()>());
        let slice = activity.snapshot().since(before);
        assert_eq!(
            slice,
            Snapshot {
                central_self_wakes: None,
                task_self_wakes: None,
                dials: 2,
                connections_opened: 1,
                connections_closed: 2,
                dial_failures: 1,
                connections: 2,
                peers: 1,
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

    #[test]
    fn the_names_are_those_of_the_table() {
        let table = include_str!("../../../run-format/EXPLAIN.md");
        let runtime = runtime();
        let activity = activity(&runtime, Arc::default(), None);
        let snapshot = activity.snapshot();
        let (counts, gauges) = (snapshot.counts(), snapshot.gauges());
        for (name, _) in counts.into_iter().chain(gauges) {
            assert!(table.contains(&format!("`{name}`")), "{name}");
        }
    }
}
