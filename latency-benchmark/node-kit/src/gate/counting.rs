//! Counts what central's tasks do between two numbers of answered requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Result, anyhow};
use node_ab::slices::{Answered, LogReader, RequestLog};
use poll_probe::{Capacity, MeterCounts, Mode, Outcome, Record, Recorder, Variant};
use run_format::{CountKind, CountName, CountPlace, GateCounts, GateTask, Site};
use tokio::sync::oneshot::Sender;

use crate::profiler::{StackReader, allocations};

static NECESSARY_WAKES: AtomicU64 = AtomicU64::new(0);
static SUPERFLUOUS_WAKES: AtomicU64 = AtomicU64::new(0);

pub(super) fn count_wake(is_superfluous: bool) {
    let wakes = match is_superfluous {
        true => &SUPERFLUOUS_WAKES,
        false => &NECESSARY_WAKES,
    };
    wakes.fetch_add(1, Relaxed);
}

/// The counters of this thread, in the order of [`CountKind::METERED`].
fn meter(counts: &mut MeterCounts) {
    let allocated = allocations::thread_totals();
    let now = [
        NECESSARY_WAKES.load(Relaxed),
        SUPERFLUOUS_WAKES.load(Relaxed),
        allocated.objects,
        allocated.bytes,
    ];
    counts[..now.len()].copy_from_slice(&now);
}

fn now() -> MeterCounts {
    let mut counts = MeterCounts::default();
    meter(&mut counts);
    counts
}

pub(super) struct Counting {
    recorder: Arc<Recorder>,
    answered: LogReader<Answered>,
    task: GateTask,
    /// The number of requests that were answered so far.
    requests: u64,
    /// The number of requests and the counters at the time when counting began.
    begun: Option<(u64, MeterCounts)>,
    counts: Counts,
    /// The allocator counts only threads whose stacks it samples. These stacks are never read.
    _stacks: Option<StackReader>,
    /// The receiver of the result. It is None when counting is over.
    done: Option<Sender<Result<GateCounts>>>,
}

impl Counting {
    pub(super) fn new(
        task: &GateTask,
        done: Sender<Result<GateCounts>>,
    ) -> Result<(Counting, RequestLog)> {
        // The buffers are emptied after every poll.
        const CAPACITY: Capacity = Capacity {
            records: 1 << 12,
            marks: 1 << 17,
        };
        let recorder = Arc::new(Recorder::with_meter(CAPACITY, CAPACITY.marks, meter));
        recorder.attach();
        let (log, answered) = RequestLog::new(recorder.clock(), 1 << 12);
        let watch = || allocations::watch_this_thread(u64::MAX, || 0);
        let counting = Counting {
            recorder,
            answered,
            task: *task,
            requests: 0,
            begun: None,
            counts: BTreeMap::new(),
            _stacks: task.counts.then(watch).transpose()?,
            done: Some(done),
        };
        Ok((counting, log))
    }

    /// Begins a poll of one of central's tasks. Returns whether the poll is counted.
    pub(super) fn begin(&self) -> bool {
        let is_counted = self.begun.is_some() && self.done.is_some();
        let mode = match is_counted && self.task.counts {
            true => Mode::Metered,
            false => Mode::Off,
        };
        let budgets = self.task.budgets.in_central();
        Variant { budgets, mode }.install();
        allocations::set_counting(is_counted && self.task.counts);
        is_counted
    }

    /// Ends that poll. Polls of peers are not recorded.
    pub(super) fn end(&mut self) {
        allocations::set_counting(false);
        let budgets = self.task.budgets.in_peers();
        let mode = Mode::Off;
        Variant { budgets, mode }.install();
        let (requests, counts) = (&mut self.requests, &mut self.counts);
        let mut lost = self.answered.drain(|_| *requests += 1);
        let drained = self.recorder.drain(|record| {
            lost += u64::from(record.entries_lost) + u64::from(record.readings_lost);
            add_record(counts, record);
        });
        let sites = Site::ALL.into_iter();
        lost += sites.map(|site| drained.lost(site.into())).sum::<u64>();
        match self.begun {
            _ if self.done.is_none() => {}
            _ if lost > 0 => {
                self.end_with(Err(anyhow!("a buffer was too small for {lost} records")));
            }
            None if self.requests >= self.task.warm_up => {
                self.begun = Some((self.requests, now()));
            }
            Some((from, before)) if self.requests >= from + self.task.requests => {
                self.finish(self.requests - from, &before);
            }
            _ => {}
        }
    }

    fn finish(&mut self, requests: u64, before: &MeterCounts) {
        let mut counts = std::mem::take(&mut self.counts);
        let grown = std::array::from_fn(|kind| now()[kind] - before[kind]);
        if self.task.counts {
            add_metered(&mut counts, &CountPlace::Central, &grown);
        }
        counts.retain(|_, count| *count > 0);
        self.end_with(Ok(GateCounts {
            requests,
            counts: counts.into_iter().collect(),
        }));
    }

    pub(super) fn end_with(&mut self, result: Result<GateCounts>) {
        if let Some(done) = self.done.take() {
            // The receiver lives as long as central.
            let _ = done.send(result);
        }
    }
}

type Counts = BTreeMap<CountName, u64>;

fn add(counts: &mut Counts, kind: CountKind, place: CountPlace, count: u64) {
    *counts.entry(CountName { kind, place }).or_default() += count;
}

fn add_metered(counts: &mut Counts, place: &CountPlace, grown: &MeterCounts) {
    for (kind, count) in CountKind::METERED.into_iter().zip(grown) {
        add(counts, kind, place.clone(), *count);
    }
}

fn add_record(counts: &mut Counts, record: &Record<'_>) {
    let site = record.site.into();
    let iterations = record.iterations.unwrap_or(0).into();
    let yields = u64::from(record.outcome == Outcome::Yielded);
    for (kind, count) in [
        (CountKind::Polls, 1),
        (CountKind::Iterations, iterations),
        (CountKind::Yields, yields),
    ] {
        add(counts, kind, CountPlace::Site(site), count);
    }
    for poll in record.children {
        let child = CountPlace::Child(site, poll.child.to_owned());
        add(counts, CountKind::Polls, child, 1);
    }
    for reading in record.readings {
        let place = match reading.child {
            Some(child) => CountPlace::Child(site, child.to_owned()),
            None => CountPlace::OwnCode(site),
        };
        add_metered(counts, &place, &reading.counts);
    }
}
