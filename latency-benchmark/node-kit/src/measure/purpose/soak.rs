//! Measures one variant for a long time. Its slices follow each other and are reported as rows.

use std::time::Instant;

use node_ab::slices::{ObservedSlice, Sums};
use run_format::plan::block::PlannedSlice;
use run_format::{BlockReport, HistogramOf, Pass, Role, SLOW_NS, Site, SoakRow};

use super::{Purpose, without_children};
use crate::measure::changes::Changes;
use crate::measure::sample::QuickCounts;
use crate::observe::activity::{Activity, Snapshot};
use crate::observed_central::ObservedCentral;

pub(super) struct Soak {
    activity: Activity,
    began: Instant,
    /// The time at which the last row ended.
    ended_s: f64,
    /// The counts until the last row ended.
    counts: Snapshot,
    /// The counts of the last row.
    row_counts: Snapshot,
    has_tasks: bool,
}

impl Soak {
    pub(super) fn new(central: &ObservedCentral) -> Soak {
        let activity = central.activity.clone();
        let counts = activity.snapshot();
        Soak {
            activity,
            began: Instant::now(),
            ended_s: 0.0,
            counts,
            row_counts: counts,
            has_tasks: central.sites.iter().any(|named| named.site == Site::Task),
        }
    }
}

impl Purpose for Soak {
    /// A soak measures the start, too.
    fn warms_up(&self, _: usize, _: Role) -> bool {
        false
    }

    fn slices_of_block(&self, number: u32, variants: usize) -> Vec<PlannedSlice> {
        without_children(number, variants)
    }

    /// Rows are reported at once.
    fn waits_for_late_polls(&self) -> bool {
        false
    }

    fn end_turn(&mut self, _: Pass) {
        let now = self.activity.snapshot();
        self.row_counts = now.since(self.counts);
        self.counts = now;
        self.ended_s = self.began.elapsed().as_secs_f64();
    }

    fn soak_row(&self, slice: &ObservedSlice, used: &QuickCounts) -> Option<SoakRow> {
        let (connection, task) = (slice.site(slice.connection_site), slice.site(Site::Task));
        let (histograms, waits) = (&slice.histograms, HistogramOf::CotenantWake);
        let latency = |q| histograms.quantile(HistogramOf::Latency, q);
        let wake = |q| histograms.quantile(waits, q);
        let slow_polls = |site| histograms.slower_than(HistogramOf::Polls(site), SLOW_NS);
        let lost: u64 = slice.sites.iter().map(|site| site.row.lost).sum();
        let counts = &self.row_counts;
        Some(SoakRow {
            at_s: rounded_to_ms(self.ended_s),
            interval_s: rounded_to_ms(slice.duration_ns as f64 / 1e9),
            connection_polls: connection.row.polls,
            connection_slow_polls: slow_polls(slice.connection_site),
            task_polls: self.has_tasks.then_some(task.row.polls),
            task_slow_polls: self.has_tasks.then(|| slow_polls(Site::Task)),
            requests: slice.requests().sum(),
            latency_p50_ns: latency(0.5),
            latency_p99_ns: latency(0.99),
            wakes: histograms.count(waits),
            late_wakes: histograms.slower_than(waits, SLOW_NS),
            wake_p50_ns: wake(0.5),
            wake_p90_ns: wake(0.9),
            wake_p99_ns: wake(0.99),
            resident_bytes: counts.resident_bytes,
            connections: counts.connections.connections,
            peers_connected: counts.connections.peers,
            tasks: counts.tasks,
            dials: counts.connections.dials,
            dial_failures: counts.connections.dial_failures,
            connections_opened: counts.connections.opened,
            connections_closed: counts.connections.closed,
            restarts: None,
            central_cpu_ns: used.row.central_cpu_ns,
            lost_records: lost + slice.lost_entries,
        })
    }

    fn report(&self, _: BlockReport, _: &Changes) -> Option<BlockReport> {
        None
    }
}

/// Rounds seconds to milliseconds.
fn rounded_to_ms(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}
