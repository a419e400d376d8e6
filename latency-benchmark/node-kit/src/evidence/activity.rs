//! Work that needs no doing: polls that found nothing ready, tasks that wake themselves, connections
//! and tasks that come and do not go.

use anyhow::Result;
use run_format::files::ACTIVITY;
use run_format::{Pass, SliceRow, TableWriters};
use slices::{ObservedSlice, PollPlace};

use crate::observe::activity::Snapshot;

/// By the names in `activity.csv`.
type Figures = Vec<(&'static str, Option<u64>)>;

/// What there is now is known in slices of every pass, what happened in those that count it.
pub(super) fn write(
    tables: &mut TableWriters,
    of: &SliceRow,
    slice: &ObservedSlice,
    during: &Snapshot,
) -> Result<()> {
    let mut figures = there_is(during);
    if of.pass == Pass::Activity {
        figures.extend(happened(slice, during));
    }
    let rows = figures.into_iter().filter_map(|(what, count)| {
        let place = PollPlace::default();
        Some(place.row(of.slice, what, count?, None))
    });
    tables.rows(ACTIVITY, rows)
}

fn there_is(now: &Snapshot) -> Figures {
    vec![
        ("connections", Some(now.links.connections)),
        ("peers", Some(now.links.peers)),
        ("tasks", Some(now.tasks)),
        ("resident_bytes", now.resident_bytes),
    ]
}

fn happened(slice: &ObservedSlice, during: &Snapshot) -> Figures {
    let idle = slice.whole.as_ref().map(|whole| whole.idle.counts);
    // A network stack without the site has no polls of it.
    let of_swarm = idle.filter(|idle| idle.swarm_polls > 0);
    vec![
        ("central_self_wakes", during.central_self_wakes),
        ("task_self_wakes", during.task_self_wakes),
        ("dials", Some(during.links.dials)),
        ("dial_failures", Some(during.links.dial_failures)),
        ("connections_opened", Some(during.links.opened)),
        ("connections_closed", Some(during.links.closed)),
        ("connection_polls", idle.map(|it| it.connection_polls)),
        (
            "connection_polls_idle",
            idle.map(|it| it.connection_polls_idle),
        ),
        ("swarm_polls", of_swarm.map(|it| it.swarm_polls)),
        ("swarm_polls_idle", of_swarm.map(|it| it.swarm_polls_idle)),
        ("task_yields", Some(slice.yielded())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::activity::Links;

    #[test]
    fn the_names_are_those_of_the_table() {
        let table = include_str!("../../../run-format/EXPLAIN.md");
        let during = Snapshot {
            central_self_wakes: None,
            task_self_wakes: None,
            links: Links::default(),
            tasks: 0,
            resident_bytes: None,
        };
        let happened = happened(&ObservedSlice::default(), &during);
        for (name, _) in there_is(&during).into_iter().chain(happened) {
            assert!(table.contains(&format!("`{name}`")), "{name}");
        }
    }
}
