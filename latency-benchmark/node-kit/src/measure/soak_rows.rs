//! The rows of a soak: one variant, whose slices follow each other and are reported one by one.

use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;
use poll_probe::{Mode, Variant, VariantId};
use run_format::{
    Budgets, Site,
    config::{SLOW_NS, SoakPlan},
    protocol::{CentralTask, NodeMessage},
    soak::SoakRow,
    variant::BASELINE,
};

use super::{
    sample::Clocks,
    source::{FinishedSlice, Source},
};
use crate::{
    connected::Connected,
    observe::{
        activity::{Activity, Snapshot},
        observers::Observers,
        slice::{ObservedSlice, slower_than},
    },
};

pub(super) struct SoakRows {
    observers: Observers,
    activity: Activity,
    budgets: Budgets,
    installed: VariantId,
    peers: usize,
    interval: Duration,
    began: Instant,
    /// At the end of the row before.
    counted: Snapshot,
    /// Whether the stack has the site `task`.
    has_tasks: bool,
    /// The site of connections.
    connections: Site,
}

/// A row to be.
pub(super) struct RowSlice {
    slice: ObservedSlice,
    at_s: f64,
    /// What was counted since the end of the row before.
    counted: Option<Snapshot>,
}

impl SoakRows {
    pub(super) fn new(task: &CentralTask, plan: SoakPlan, connected: Connected) -> SoakRows {
        SoakRows {
            counted: connected.activity.snapshot(),
            connections: connected.connections_site(),
            observers: connected.observers,
            activity: connected.activity,
            budgets: task.config.variants[BASELINE].budgets,
            installed: Variant::default().install(),
            peers: task.config.cell.peers,
            interval: Duration::from_millis(plan.interval_ms),
            began: Instant::now(),
            has_tasks: connected.sites.iter().any(|it| it.site == Site::Task),
        }
    }
}

impl Source for SoakRows {
    type Turn = ();
    type Seen = RowSlice;

    /// Peers may be restarted, and be away for a while.
    const PATIENCE: Duration = Duration::from_secs(120);

    /// Nothing: how things get going is part of a soak.
    fn warm_up(&self) -> Vec<()> {
        Vec::new()
    }

    fn block(&self, _: u32) -> Vec<()> {
        vec![()]
    }

    fn switch(&mut self, turn: Option<()>) -> Result<()> {
        if turn.is_some() {
            let variant = Variant {
                budgets: self.budgets.into(),
                mode: Mode::Minimal,
            };
            self.installed = variant.install();
        }
        Ok(())
    }

    fn open(&mut self, (): ()) -> RowSlice {
        let now_ns = self.observers.recorder.now_ns();
        RowSlice {
            slice: ObservedSlice::open(self.installed, now_ns, self.peers)
                .of_connections(self.connections),
            at_s: 0.0,
            counted: None,
        }
    }

    fn collect(&mut self, into: &mut [&mut RowSlice]) {
        let rows = into.iter_mut().map(|row| &mut row.slice);
        self.observers.collect(&mut rows.collect::<Vec<_>>());
    }

    fn close(&mut self, (): (), row: &mut RowSlice) {
        row.slice.close(self.observers.recorder.now_ns());
        row.at_s = self.began.elapsed().as_secs_f64();
        let now = self.activity.snapshot();
        row.counted = Some(now.since(&self.counted));
        self.counted = now;
    }

    fn answers(row: &RowSlice) -> Vec<u64> {
        row.slice.requests().collect()
    }

    fn keep(&mut self, slice: FinishedSlice<SoakRows>) -> Result<Option<NodeMessage>> {
        let FinishedSlice { seen, used, .. } = slice;
        let row = seen
            .counted
            .map(|counted| row(&seen, &counted, &used, self.has_tasks));
        Ok(row.map(|row| NodeMessage::Row(Box::new(row))))
    }

    /// Rows keep step with the clock, whatever the slices before took.
    fn fixed_end(&self, started: Instant, block: u32) -> Option<Instant> {
        Some(started + self.interval * block)
    }

    /// A row may last an hour.
    fn stops_within_slices(&self) -> bool {
        true
    }
}

fn row(of: &RowSlice, counted: &Snapshot, used: &Clocks, has_tasks: bool) -> SoakRow {
    let slice = &of.slice;
    let (connection, task) = (slice.site(slice.connections), slice.site(Site::Task));
    let latency = |q| quantile(&slice.latency_ns, q);
    let wake = |q| quantile(&slice.wake_delay_ns, q);
    let lost: u64 = slice.sites.iter().map(|site| site.lost).sum();
    SoakRow {
        at_s: to_ms(of.at_s),
        interval_s: to_ms(slice.duration_ns as f64 / 1e9),
        connection_polls: connection.polls(),
        connection_slow_polls: connection.slower_than(SLOW_NS),
        task_polls: has_tasks.then(|| task.polls()),
        task_slow_polls: has_tasks.then(|| task.slower_than(SLOW_NS)),
        requests: slice.requests().sum(),
        latency_p50_ns: latency(0.5),
        latency_p99_ns: latency(0.99),
        wakes: slice.wake_delay_ns.len(),
        late_wakes: slower_than(&slice.wake_delay_ns, SLOW_NS),
        wake_p50_ns: wake(0.5),
        wake_p90_ns: wake(0.9),
        wake_p99_ns: wake(0.99),
        resident_bytes: counted.resident_bytes,
        connections: counted.connections,
        peers_connected: counted.peers,
        tasks: counted.tasks,
        dials: counted.dials,
        dial_failures: counted.dial_failures,
        connections_opened: counted.connections_opened,
        connections_closed: counted.connections_closed,
        restarts: None,
        central_cpu_ns: used.central.cpu_ns,
        lost_records: lost + slice.lost_entries,
    }
}

/// None of an empty histogram.
fn quantile(histogram: &Histogram<u64>, q: f64) -> Option<u64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(q))
}

/// Seconds, to the millisecond.
fn to_ms(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}
