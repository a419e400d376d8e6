//! Work that needs no doing: polls that found nothing ready, tasks that wake themselves, connections
//! and tasks that come and do not go.

use anyhow::Result;
use run_format::{
    evidence::ActivityRow,
    files::ACTIVITY,
    table::TableWriters,
    tables::{Pass, SliceRow},
};

use crate::observe::{
    activity::{Activity, Snapshot},
    slice::ObservedSlice,
    sums::Sums,
};

pub(super) struct ActivityEvidence {
    activity: Activity,
    before: Snapshot,
    /// Between the beginning and the end of the last slice.
    during: Option<Snapshot>,
}

impl ActivityEvidence {
    pub(super) fn new(activity: Activity) -> ActivityEvidence {
        ActivityEvidence {
            before: activity.snapshot(),
            activity,
            during: None,
        }
    }

    pub(super) fn begin(&mut self, pass: Pass) {
        self.activity.count_self_wakes(pass == Pass::Activity);
        self.before = self.activity.snapshot();
    }

    pub(super) fn end(&mut self) {
        self.during = Some(self.activity.snapshot().since(self.before));
        self.activity.count_self_wakes(false);
    }

    pub(super) fn write(
        &mut self,
        tables: &mut TableWriters,
        row: &SliceRow,
        slice: &ObservedSlice,
    ) -> Result<()> {
        let Some(during) = self.during.take() else {
            return Ok(());
        };
        // What there is now is known in slices of every pass, what happened in those that count it.
        let counts_all = row.pass == Pass::Activity;
        let mut values = Vec::new();
        if counts_all {
            values.extend(during.counts());
        }
        values.extend(during.gauges());
        if counts_all {
            values.extend(polls(slice));
        }
        let known = values.into_iter().filter(|(_, value)| value.is_some());
        let rows = known.map(|(counter, value)| ActivityRow {
            slice: row.slice,
            counter: counter.into(),
            value,
        });
        tables.rows(ACTIVITY, rows)
    }
}

fn polls(slice: &ObservedSlice) -> Vec<(&'static str, Option<u64>)> {
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
