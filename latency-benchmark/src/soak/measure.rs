//! Cuts what is seen in central into one row after the other.

use std::{
    sync::mpsc::{Receiver, TryRecvError},
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;
use poll_probe::{Budgets, Mode, Site, Variant, VariantId};

use super::SoakPlan;
use crate::{
    node::central::Observed,
    observe::{
        activity::Snapshot,
        process::{self, both},
        slice::{Slice, slower_than},
    },
    slices::{Measured, SLOW_NS},
    store::{rows::Stop, soak::SoakRow},
};

/// What to measure.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    pub(crate) plan: SoakPlan,
    pub(crate) duration: Duration,
    pub(crate) budgets: Budgets,
    pub(crate) peers: usize,
    /// Whether peers answer all the time, so that silence of all is a fault.
    pub(crate) answers: bool,
}

/// Measures until the time is up. A message on `stop`, or the end of it, ends it before; the row that
/// was begun is not told then.
pub(crate) fn measure(
    observed: Observed,
    task: Task,
    stop: &Receiver<()>,
    mut tell: impl FnMut(SoakRow),
) -> Result<Measured> {
    let interval = Duration::from_millis(task.plan.interval_ms);
    let variant = Variant {
        budgets: task.budgets,
        mode: Mode::Minimal,
    }
    .install();
    let started = Instant::now();
    let mut measuring = Measuring {
        counted: Counted::now(&observed),
        observed,
        variant,
        peers: task.peers,
        started,
        stop,
    };
    let mut last_answer = Instant::now();
    let mut rows = 0;
    let stop = loop {
        let end = started + interval * (rows + 1);
        if end > started + task.duration {
            break Stop::Cap;
        }
        let Some(row) = measuring.row(end)? else {
            break Stop::Interrupted;
        };
        if row.requests > 0 {
            last_answer = Instant::now();
        }
        rows += 1;
        tell(row);
        if task.answers {
            refuse_silence(last_answer.elapsed(), interval)?;
        }
    };
    Ok(Measured {
        stop,
        blocks: rows,
        planned: interval * rows,
    })
}

/// When nobody answers any more, nothing is measured any more.
fn refuse_silence(silence: Duration, interval: Duration) -> Result<()> {
    const PATIENCE: Duration = Duration::from_secs(120);
    if silence > PATIENCE.max(4 * interval) {
        bail!(
            "no peer has answered anything for {:.0} s",
            silence.as_secs_f64()
        );
    }
    Ok(())
}

struct Measuring<'a> {
    observed: Observed,
    variant: VariantId,
    peers: usize,
    started: Instant,
    /// At the end of the row before.
    counted: Counted,
    stop: &'a Receiver<()>,
}

/// What is only known as sums since the start.
struct Counted {
    activity: Snapshot,
    cpu_ns: Option<u64>,
}

impl Counted {
    fn now(observed: &Observed) -> Counted {
        Counted {
            activity: observed.activity.snapshot(),
            cpu_ns: process::total(&observed.workers).cpu_ns,
        }
    }
}

impl Measuring<'_> {
    /// What is seen from now until `end`. None if it is to stop.
    fn row(&mut self, end: Instant) -> Result<Option<SoakRow>> {
        /// For polls that are not over when the row is: few, but the slow ones among them.
        const QUIET: Duration = Duration::from_millis(10);
        let recorder = &self.observed.observers.recorder;
        let mut slice = Slice::open(self.variant, recorder.now_ns(), self.peers);
        if !self.collect_until(end, &mut slice) {
            return Ok(None);
        }
        slice.close(self.observed.observers.recorder.now_ns());
        let at_s = self.started.elapsed().as_secs_f64();
        let now = Counted::now(&self.observed);
        if !self.collect_until(end + QUIET, &mut slice) {
            return Ok(None);
        }
        let row = row(at_s, &slice, &now, &self.counted);
        self.counted = now;
        Ok(Some(row))
    }

    /// Empties the buffers before they are full. Returns whether to go on.
    fn collect_until(&mut self, end: Instant, slice: &mut Slice) -> bool {
        const BUFFERS_LAST: Duration = Duration::from_millis(50);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(BUFFERS_LAST));
            self.observed.observers.collect(Some(slice));
            if !matches!(self.stop.try_recv(), Err(TryRecvError::Empty)) {
                return false;
            }
            if Instant::now() >= end {
                return true;
            }
        }
    }
}

fn row(at_s: f64, slice: &Slice, now: &Counted, before: &Counted) -> SoakRow {
    let (connection, task) = (slice.site(Site::Connection), slice.site(Site::Task));
    let activity = now.activity.since(&before.activity);
    let latency = |q| quantile(&slice.latency_ns, q);
    let wake = |q| quantile(&slice.wake_delay_ns, q);
    let lost: u64 = slice.sites.iter().map(|site| site.lost).sum();
    SoakRow {
        at_s: in_ms(at_s),
        interval_s: in_ms(slice.duration_ns() as f64 / 1e9),
        connection_polls: connection.polls(),
        connection_slow_polls: connection.slower_than(SLOW_NS),
        task_polls: task.polls(),
        task_slow_polls: task.slower_than(SLOW_NS),
        requests: slice.requests().sum(),
        latency_p50_ns: latency(0.5),
        latency_p99_ns: latency(0.99),
        wakes: slice.wake_delay_ns.len(),
        late_wakes: slower_than(&slice.wake_delay_ns, SLOW_NS),
        wake_p50_ns: wake(0.5),
        wake_p90_ns: wake(0.9),
        wake_p99_ns: wake(0.99),
        resident_bytes: activity.resident_bytes,
        connections: activity.connections,
        peers_connected: activity.peers,
        tasks: activity.tasks,
        dials: activity.dials,
        dial_failures: activity.dial_failures,
        connections_opened: activity.connections_opened,
        connections_closed: activity.connections_closed,
        restarts: None,
        central_cpu_ns: both(now.cpu_ns, before.cpu_ns, u64::saturating_sub),
        lost_records: lost + slice.lost_entries,
    }
}

/// None of nothing.
fn quantile(histogram: &Histogram<u64>, q: f64) -> Option<u64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(q))
}

/// Seconds, to the millisecond.
fn in_ms(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}
