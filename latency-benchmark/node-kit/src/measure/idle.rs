//! What central's core does before there are requests. A co-tenant that is woken then waits for the core to wake up, and
//! what central's threads use is the suite's own.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use poll_probe::Variant;
use run_format::files::IDLE;
use run_format::histogram_tag::HistogramOf;
use run_format::table::TableWriters;
use run_format::tables::IdleRow;
use slices::slice::ObservedSlice;
use slices::sums::Sums;

use crate::connected::Connected;
use crate::observe::process;

/// Observes central before it has work, and writes what was seen.
pub(super) fn observe(central: &mut Connected) -> Result<()> {
    /// What connecting left behind is over then.
    const SETTLE: Duration = Duration::from_millis(50);
    /// About 250 wake-ups. Their median is then known to a few percent.
    const OBSERVE: Duration = Duration::from_millis(250);
    thread::sleep(SETTLE);
    let observers = &mut central.observers;
    observers.collect(&mut []);
    let cpu_time = || process::cpu_time(&central.workers);
    let (began, before) = (Instant::now(), cpu_time());
    let (now_ns, peers) = (observers.recorder.now_ns(), central.task.config.cell.peers);
    let mut seen = ObservedSlice::open(Variant::default().install(), now_ns, now_ns, peers);
    thread::sleep(OBSERVE);
    let (used, took) = (cpu_time().since(before), began.elapsed());
    observers.collect(&mut [&mut seen]);
    let wake = |q| seen.histograms.quantile(HistogramOf::CotenantWake, q);
    let mut table = TableWriters::create(&central.task.dir, &[IDLE])?;
    table.row(
        IDLE,
        &IdleRow {
            duration_ms: took.as_secs_f64() * 1e3,
            central_cpu_ns: used.cpu_ns,
            wakes: seen.histograms.count(HistogramOf::CotenantWake),
            wake_p50_ns: wake(0.5),
            wake_p90_ns: wake(0.9),
        },
    )?;
    table.finish()
}
