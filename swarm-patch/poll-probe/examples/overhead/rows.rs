//! The methods of timing a poll, each around the same work.

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use hdrhistogram::Histogram;
use poll_probe::{Capacity, Invocation, Mode, ProcessBudgets, Recorder, SiteId, Variant};

use super::tracing_layer;

const CONNECTION: SiteId = SiteId::new(0);

pub(crate) struct CostRow {
    pub(crate) name: &'static str,
    /// Runs before each timed stretch, outside of it.
    pub(crate) prepare: Box<dyn FnMut()>,
    /// Runs this many polls.
    pub(crate) polls: Box<dyn FnMut(u32)>,
    /// Runs after each timed stretch of this many polls. Checks that the row did its work.
    pub(crate) check: Box<dyn FnMut(u32)>,
}

/// The index of the row that the others are compared with.
pub(crate) const BARE: usize = 0;

pub(crate) fn all() -> Vec<CostRow> {
    let capacity = Capacity {
        records: 1 << 14,
        marks: 1 << 18,
    };
    let recorder = Arc::new(Recorder::with_meter(capacity, 1 << 17, |_| {}));
    recorder.attach();
    vec![
        simple("bare work", bare),
        simple("two TSC reads", two_tsc_reads),
        probe("poll-probe, minimal", Mode::Minimal, &recorder, one_child),
        probe(
            "poll-probe, minimal, without marks",
            Mode::Minimal,
            &recorder,
            no_marks,
        ),
        probe(
            "poll-probe, per child (7 children, 1.2 iterations)",
            Mode::Children,
            &recorder,
            seven_children,
        ),
        probe(
            "poll-probe, per child, with an empty meter",
            Mode::Metered,
            &recorder,
            seven_children,
        ),
        probe("poll-probe, off", Mode::Off, &recorder, one_child),
        instant_and_histogram(),
        task_monitor(),
        tracing(),
    ]
}

#[inline(never)]
pub(crate) fn work(x: &mut u64) {
    *x = black_box(*x)
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
}

fn simple(name: &'static str, polls: impl FnMut(u32) + 'static) -> CostRow {
    CostRow {
        name,
        prepare: Box::new(|| {}),
        polls: Box::new(polls),
        check: Box::new(|_| {}),
    }
}

fn bare(polls: u32) {
    let mut x = 1;
    for _ in 0..polls {
        work(&mut x);
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the yardstick is the bare instruction")]
fn two_tsc_reads(polls: u32) {
    // SAFETY: every x86-64 has the instruction.
    let tsc = || unsafe { std::arch::x86_64::_rdtsc() };
    let mut x = 1;
    for _ in 0..polls {
        let start = tsc();
        work(&mut x);
        black_box(tsc() - start);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn two_tsc_reads(polls: u32) {
    let clock = quanta::Clock::new();
    let mut x = 1;
    for _ in 0..polls {
        let start = clock.raw();
        work(&mut x);
        black_box(clock.raw() - start);
    }
}

fn probe(name: &'static str, mode: Mode, recorder: &Arc<Recorder>, poll: fn(u32)) -> CostRow {
    let recorder = Arc::clone(recorder);
    let variant = Variant {
        budgets: ProcessBudgets::NONE,
        mode,
    };
    CostRow {
        name,
        prepare: Box::new(move || {
            variant.install();
        }),
        polls: Box::new(poll),
        check: Box::new(move |polls| {
            let drained = recorder.drain(|record| {
                assert_eq!((record.entries_lost, record.readings_lost), (0, 0));
                assert_eq!(record.readings.is_empty(), mode != Mode::Metered);
            });
            let expected = if mode == Mode::Off { 0 } else { polls };
            assert_eq!(drained.records, expected.into());
        }),
    }
}

/// The marks of a poll function with one child and one iteration a poll.
fn one_child(polls: u32) {
    let cx = &mut Context::from_waker(Waker::noop());
    let mut x = 1;
    for _ in 0..polls {
        let mut probe = Invocation::enter(CONNECTION, &["work"]);
        if probe.iterate(cx).is_ready() {
            probe.child(0);
            work(&mut x);
            probe.child_ended();
            probe.pending();
        }
    }
}

/// A poll function whose loop is not marked.
fn no_marks(polls: u32) {
    let mut x = 1;
    for _ in 0..polls {
        let mut probe = Invocation::enter_unmarked(CONNECTION);
        work(&mut x);
        probe.returns(&Poll::<()>::Pending);
    }
}

/// The marks of libp2p-swarm's connection: seven children, and two iterations in every fifth poll.
fn seven_children(polls: u32) {
    let cx = &mut Context::from_waker(Waker::noop());
    let mut x = 1;
    for poll in 0..polls {
        let mut probe = Invocation::enter(CONNECTION, &["a", "b", "c", "d", "e", "f", "g"]);
        for iteration in 0..if poll % 5 == 0 { 2 } else { 1 } {
            if probe.iterate(cx).is_pending() {
                break;
            }
            for child in 0..7 {
                probe.child(child);
                // The others are pending, and the next mark ends their time.
                if child == 0 && iteration == 0 {
                    work(&mut x);
                    probe.child_ended();
                }
            }
        }
        probe.pending();
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap()
}

fn instant_and_histogram() -> CostRow {
    let mut durations = histogram();
    simple("std Instant ×2 + histogram", move |polls| {
        let mut x = 1;
        for _ in 0..polls {
            let start = Instant::now();
            work(&mut x);
            durations.saturating_record(start.elapsed().as_nanos() as u64);
        }
    })
}

fn task_monitor() -> CostRow {
    struct Working(u64);
    impl Future for Working {
        type Output = ();
        fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
            work(&mut self.0);
            Poll::Pending
        }
    }
    let mut task = Box::pin(tokio_metrics::TaskMonitor::new().instrument(Working(1)));
    simple("tokio_metrics::TaskMonitor", move |polls| {
        let cx = &mut Context::from_waker(Waker::noop());
        for _ in 0..polls {
            assert!(task.as_mut().poll(cx).is_pending());
        }
    })
}

fn tracing() -> CostRow {
    tracing_layer::install();
    simple("tracing span + two timing layers", |polls| {
        let mut x = 1;
        for _ in 0..polls {
            tracing_layer::spanned(&mut x);
        }
    })
}
