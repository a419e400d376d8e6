//! Writes signs of needless work: polls that found nothing ready, tasks that wake themselves, and the numbers of
//! connections and tasks.

use anyhow::Result;
use node_ab::slices::ObservedSlice;
use run_format::ActivityCounter as Counter;
use run_format::files::ACTIVITY;
use run_format::{EvidenceRow, Pass, SliceRow, TableWriters};

use crate::observe::activity::Snapshot;

type Figures = Vec<(Counter, Option<u64>)>;

/// Writes the figures of a slice. Slices of every pass have the numbers of connections, peers and tasks. Only slices of the
/// pass `activity` have counts of events.
pub(super) fn write(
    tables: &mut TableWriters,
    row: &SliceRow,
    slice: &ObservedSlice,
    during: &Snapshot,
) -> Result<()> {
    let mut figures = states(during);
    if row.pass == Pass::Activity {
        figures.extend(events(slice, during));
    }
    let rows = figures.into_iter().filter_map(|(what, count)| {
        Some(EvidenceRow {
            slice: row.slice,
            site: None,
            child: None,
            from_ns: None,
            what,
            count: count?,
            amount: None,
        })
    });
    tables.rows(ACTIVITY, rows)
}

fn states(now: &Snapshot) -> Figures {
    vec![
        (Counter::Connections, Some(now.connections.connections)),
        (Counter::Peers, Some(now.connections.peers)),
        (Counter::Tasks, Some(now.tasks)),
        (Counter::ResidentBytes, now.resident_bytes),
    ]
}

fn events(slice: &ObservedSlice, during: &Snapshot) -> Figures {
    let idle = slice.with_children.as_ref().map(|whole| whole.idle.counts);
    // A network stack may have no site `swarm`.
    let swarm = idle.filter(|idle| idle.swarm_polls > 0);
    vec![
        (Counter::CentralSelfWakes, during.central_self_wakes),
        (Counter::TaskSelfWakes, during.task_self_wakes),
        (Counter::Dials, Some(during.connections.dials)),
        (
            Counter::DialFailures,
            Some(during.connections.dial_failures),
        ),
        (Counter::ConnectionsOpened, Some(during.connections.opened)),
        (Counter::ConnectionsClosed, Some(during.connections.closed)),
        (
            Counter::ConnectionPolls,
            idle.map(|idle| idle.connection_polls),
        ),
        (
            Counter::ConnectionPollsIdle,
            idle.map(|idle| idle.connection_polls_idle),
        ),
        (Counter::SwarmPolls, swarm.map(|idle| idle.swarm_polls)),
        (
            Counter::SwarmPollsIdle,
            swarm.map(|idle| idle.swarm_polls_idle),
        ),
        (Counter::TaskYields, Some(slice.yielded())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::activity::ConnectionFigures;

    #[test]
    fn the_names_are_those_of_the_table() {
        let table = include_str!("../../../run-format/EXPLAIN.md");
        let during = Snapshot {
            central_self_wakes: None,
            task_self_wakes: None,
            connections: ConnectionFigures::default(),
            tasks: 0,
            resident_bytes: None,
        };
        let events = events(&ObservedSlice::default(), &during);
        for (counter, _) in states(&during).into_iter().chain(events) {
            assert!(table.contains(&format!("`{counter}`")), "{counter}");
        }
    }
}
