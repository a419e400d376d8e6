//! Writes the slices of a run of the verb `rr` as they are cut, each to disk before the next.

use std::{path::Path, time::Duration};

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::Serialize;

use super::{
    HISTOGRAMS, RR,
    run_writer::{Histograms, Span},
    table::Table,
};
use crate::node::beside_tcp::Way;

/// A row of `rr.csv`.
#[derive(Serialize)]
pub(crate) struct RrRow {
    pub(crate) slice: u32,
    pub(crate) block: u32,
    pub(crate) variant: usize,
    pub(crate) way: Way,
    pub(crate) start_ms: f64,
    pub(crate) duration_ms: f64,
    pub(crate) sampled_ms: f64,
    pub(crate) transactions: u64,
    pub(crate) other_way_transactions: u64,
    pub(crate) lost_entries: u64,
    pub(crate) central_cpu_ns: Option<u64>,
    pub(crate) central_runqueue_ns: Option<u64>,
    pub(crate) central_user_ms: Option<f64>,
    pub(crate) central_system_ms: Option<f64>,
    pub(crate) central_voluntary_switches: Option<u64>,
    pub(crate) central_involuntary_switches: Option<u64>,
    pub(crate) helpers_cpu_ns: Option<u64>,
    pub(crate) peers_user_ms: Option<f64>,
    pub(crate) peers_system_ms: Option<f64>,
    pub(crate) steal_ms: Option<f64>,
    pub(crate) central_tcp_retransmits: Option<u64>,
    pub(crate) peers_tcp_retransmits: Option<u64>,
    pub(crate) central_received_bytes: Option<u64>,
    pub(crate) central_sent_bytes: Option<u64>,
    pub(crate) libp2p_polls: u64,
}

/// The table and the histograms of a run, while it goes on.
pub(crate) struct RrWriter {
    rows: Table,
    histograms: Histograms,
}

impl RrWriter {
    /// Begins the files of a run in the folder `dir`.
    pub(crate) fn create(dir: &Path) -> Result<RrWriter> {
        Ok(RrWriter {
            rows: Table::create(&dir.join(RR))?,
            histograms: Histograms::create(&dir.join(HISTOGRAMS))?,
        })
    }

    /// Writes all of a slice.
    pub(crate) fn write(&mut self, row: &RrRow, latency_ns: &Histogram<u64>) -> Result<()> {
        let ms = |ms: f64| Duration::from_secs_f64(ms / 1e3);
        let span = Span {
            start: ms(row.start_ms),
            duration: ms(row.duration_ms),
        };
        let tag = format!("latency.v{}", row.variant);
        self.histograms.interval(&tag, span, latency_ns)?;
        self.histograms.flush()?;
        // Last, so that a slice in this table has its histogram.
        self.rows.row(row)?;
        self.rows.flush()
    }

    /// Has the disk confirm everything.
    pub(crate) fn finish(self) -> Result<()> {
        self.rows.finish()?;
        self.histograms.finish()
    }
}
