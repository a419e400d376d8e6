//! Work that needs no doing: polls that found nothing ready, tasks that wake themselves, connections
//! and tasks that come and do not go.

use anyhow::Result;
use run_format::Site;
use run_format::{
    evidence::ActivityRow,
    files::ACTIVITY,
    table::TableWriters,
    tables::{Pass, SliceRow},
};

use crate::observe::{
    activity::{Activity, Snapshot},
    slice::ObservedSlice,
};

/// Of what there is now, as opposed to what happened: known in slices of every pass.
const GAUGES: [&str; 4] = ["connections", "peers", "tasks", "resident_bytes"];

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
        self.during = Some(self.activity.snapshot().since(&self.before));
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
        let mut values: Vec<(&str, Option<u64>)> = during.named().to_vec();
        if row.pass == Pass::Activity {
            values.extend(polls(slice));
        } else {
            values.retain(|(name, _)| GAUGES.contains(name));
        }
        for (counter, value) in values {
            if value.is_some() {
                let row = ActivityRow {
                    slice: row.slice,
                    counter: counter.into(),
                    value,
                };
                tables.row(ACTIVITY, &row)?;
            }
        }
        Ok(())
    }
}

fn polls(slice: &ObservedSlice) -> Vec<(&'static str, Option<u64>)> {
    let Some(whole) = &slice.whole else {
        return Vec::new();
    };
    let idle = whole.idle.counts();
    let yielded: u64 = Site::ALL.map(|site| slice.site(site).yielded).iter().sum();
    // A network stack without the site has no polls of it.
    let swarm = |count| (idle.swarm_polls > 0).then_some(count);
    vec![
        ("connection_polls", Some(idle.connection_polls)),
        ("connection_polls_idle", Some(idle.connection_polls_idle)),
        ("swarm_polls", swarm(idle.swarm_polls)),
        ("swarm_polls_idle", swarm(idle.swarm_polls_idle)),
        ("task_yields", Some(yielded)),
    ]
}
