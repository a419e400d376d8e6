//! Work that needs no doing: polls that found nothing ready, tasks that wake themselves, connections
//! and tasks that come and do not go.

use anyhow::Result;
use run_format::files::ACTIVITY;
use run_format::{ActivityRow, Pass, SliceRow, TableWriters};
use slices::ObservedSlice;

use crate::observe::activity::{Figures, Snapshot};

pub(super) fn write(
    tables: &mut TableWriters,
    row: &SliceRow,
    slice: &ObservedSlice,
    during: &Snapshot,
) -> Result<()> {
    // What there is now is known in slices of every pass, what happened in those that count it.
    let counts_all = row.pass == Pass::Activity;
    let counted = |figures: Figures| figures.into_iter().filter(move |_| counts_all);
    let figures = counted(during.counts()).chain(during.gauges());
    let figures = figures.chain(counted(polls(slice)));
    let rows = figures.map(|(counter, value)| ActivityRow {
        slice: row.slice,
        counter: counter.into(),
        value,
    });
    tables.rows(ACTIVITY, rows.filter(|row| row.value.is_some()))
}

fn polls(slice: &ObservedSlice) -> Figures {
    let Some(whole) = &slice.whole else {
        return Vec::new();
    };
    let idle = whole.idle.counts;
    // A network stack without the site has no polls of it.
    let swarm = |count| (idle.swarm_polls > 0).then_some(count);
    vec![
        ("connection_polls", Some(idle.connection_polls)),
        ("connection_polls_idle", Some(idle.connection_polls_idle)),
        ("swarm_polls", swarm(idle.swarm_polls)),
        ("swarm_polls_idle", swarm(idle.swarm_polls_idle)),
        ("task_yields", Some(slice.yielded())),
    ]
}
