//! What is recorded of an invocation, and what a budget does to it.
#![allow(clippy::unwrap_used)]

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use poll_probe::{
    Capacity, Invocation, Mode, Outcome, Probe, Record, Recorder, Site, Variant, VariantId,
};

/// The variant in force is the whole process's, so these tests take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn install(budgets: &str, mode: Mode) -> VariantId {
    Variant {
        budgets: budgets.parse().unwrap(),
        mode,
    }
    .install()
}

fn attached(capacity: Capacity) -> Recorder {
    let recorder = Recorder::new(capacity);
    recorder.attach();
    recorder
}

const SMALL: Capacity = Capacity {
    records: 64,
    spans: 256,
};

/// A record that can be kept.
#[derive(Debug)]
struct Kept {
    site: Site,
    variant: VariantId,
    start_ns: u64,
    duration_ns: u64,
    iterations: u32,
    longest_iteration_ns: u64,
    outcome: Outcome,
    longest_child: Option<&'static str>,
    children: Vec<(&'static str, u32)>,
    children_ns: u64,
    children_lost: u16,
}

fn drain(recorder: &Recorder) -> Vec<Kept> {
    let mut kept = Vec::new();
    recorder.drain(|record: &Record<'_>| {
        kept.push(Kept {
            site: record.site,
            variant: record.variant,
            start_ns: record.start_ns,
            duration_ns: record.duration_ns,
            iterations: record.iterations,
            longest_iteration_ns: record.longest_iteration_ns,
            outcome: record.outcome,
            longest_child: record.longest_child.map(|longest| longest.child),
            children: record
                .children
                .iter()
                .map(|poll| (poll.child, poll.iteration))
                .collect(),
            children_ns: record.children.iter().map(|poll| poll.duration_ns).sum(),
            children_lost: record.children_lost,
        });
    });
    kept
}

fn only(mut kept: Vec<Kept>) -> Kept {
    assert_eq!(kept.len(), 1, "{kept:?}");
    kept.remove(0)
}

#[derive(Default)]
struct CountingWaker(AtomicUsize);

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A poll function that would like to go round `wanted` times.
fn poll_site(site: Site, wanted: u32, cx: &mut Context<'_>) -> Poll<u32> {
    let mut probe = Invocation::enter(site, &["first", "second"]);
    let mut done = 0;
    loop {
        if probe.iterate(cx).is_pending() {
            return Poll::Pending;
        }
        probe.child(0);
        done += 1;
        probe.child(1);
        if done < wanted {
            probe.own();
            continue;
        }
        probe.own();
        return Poll::Ready(done);
    }
}

fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn nothing_is_recorded_while_recording_is_off() {
    let _alone = alone();
    let recorder = attached(SMALL);
    install("none", Mode::Off);
    assert!(poll_site(Site::Connection, 3, &mut Context::from_waker(Waker::noop())).is_ready());
    assert!(drain(&recorder).is_empty());
}

#[test]
fn an_invocation_without_a_budget_goes_round_as_often_as_it_likes() {
    let _alone = alone();
    let recorder = attached(SMALL);
    let variant = install("none", Mode::Minimal);
    assert_eq!(
        poll_site(Site::Muxer, 1000, &mut Context::from_waker(Waker::noop())),
        Poll::Ready(1000)
    );
    let record = only(drain(&recorder));
    assert_eq!((record.site, record.variant), (Site::Muxer, variant));
    assert_eq!((record.iterations, record.outcome), (1000, Outcome::Ready));
    assert!(record.longest_iteration_ns <= record.duration_ns);
    assert!(record.children.is_empty() && record.longest_child.is_none());
}

#[test]
fn a_count_stops_after_so_many_iterations_and_wakes_once() {
    let _alone = alone();
    let recorder = attached(SMALL);
    for mode in [Mode::Off, Mode::Minimal, Mode::Children] {
        install("connection=3", mode);
        let wakes = Arc::new(CountingWaker::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut cx = Context::from_waker(&waker);
        assert!(
            poll_site(Site::Connection, 4, &mut cx).is_pending(),
            "{mode:?}"
        );
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1, "{mode:?}");
        assert!(
            poll_site(Site::Connection, 3, &mut cx).is_ready(),
            "{mode:?}"
        );
        assert!(
            poll_site(Site::Muxer, 4, &mut cx).is_ready(),
            "{mode:?}: another site"
        );
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1, "{mode:?}");
    }
    let outcomes: Vec<(u32, Outcome)> = drain(&recorder)
        .iter()
        .map(|record| (record.iterations, record.outcome))
        .collect();
    let each = [
        (3, Outcome::Yielded),
        (3, Outcome::Ready),
        (4, Outcome::Ready),
    ];
    assert_eq!(outcomes, [each, each].concat());
}

#[test]
fn a_time_stops_the_first_iteration_after_it_and_never_the_first_of_all() {
    let _alone = alone();
    let recorder = attached(SMALL);
    for mode in [Mode::Off, Mode::Minimal] {
        install("connection=1ns", mode);
        assert!(poll_site(Site::Connection, 1, &mut Context::from_waker(Waker::noop())).is_ready());
        let mut probe = Invocation::enter(Site::Connection, &[]);
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(probe.iterate(cx).is_ready());
        spin(Duration::from_micros(1));
        assert!(probe.iterate(cx).is_pending());
    }
    install("connection=1000s", Mode::Minimal);
    assert!(
        poll_site(
            Site::Connection,
            50,
            &mut Context::from_waker(Waker::noop())
        )
        .is_ready()
    );
    let iterations: Vec<u32> = drain(&recorder)
        .iter()
        .map(|record| record.iterations)
        .collect();
    assert_eq!(iterations, [1, 1, 50]);
}

#[test]
fn a_time_limit_is_that_long() {
    let _alone = alone();
    let recorder = attached(SMALL);
    install("connection=5ms", Mode::Minimal);
    let cx = &mut Context::from_waker(Waker::noop());
    {
        let mut probe = Invocation::enter(Site::Connection, &[]);
        while probe.iterate(cx).is_ready() {}
    }
    // The clock of the limit and the clock of the record are calibrated alike, so this is no
    // statement about how fast the machine is. Late it may be; early it must not be.
    let record = only(drain(&recorder));
    assert_eq!(record.outcome, Outcome::Yielded);
    assert!(record.duration_ns >= 4_990_000, "{record:?}");
}

#[test]
fn coop_shares_tokios_budget_and_leaves_the_first_iteration_free() {
    let _alone = alone();
    let recorder = attached(SMALL);
    install("connection=coop", Mode::Minimal);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let counts = runtime.block_on(async {
        tokio::spawn(async {
            let mut counts = Vec::new();
            // A task may do 128 operations in a poll. An idle invocation costs none of them.
            std::future::poll_fn(|cx| {
                assert!(poll_site(Site::Connection, 1, cx).is_ready());
                counts.push(poll_site(Site::Connection, 10_000, cx).is_pending());
                // Without a unit left not even the first iteration runs.
                counts.push(poll_site(Site::Connection, 1, cx).is_pending());
                Poll::Ready(())
            })
            .await;
            counts
        })
        .await
        .unwrap()
    });
    assert_eq!(counts, [true, true]);
    let iterations: Vec<(u32, Outcome)> = drain(&recorder)
        .iter()
        .map(|record| (record.iterations, record.outcome))
        .collect();
    assert_eq!(
        iterations,
        [
            (1, Outcome::Ready),
            (129, Outcome::Yielded),
            (0, Outcome::Yielded)
        ]
    );
}

#[test]
fn children_are_recorded_in_order_with_their_iteration() {
    let _alone = alone();
    let recorder = attached(SMALL);
    install("none", Mode::Children);
    let cx = &mut Context::from_waker(Waker::noop());
    {
        let mut probe = Invocation::enter(Site::Connection, &["short", "long", "never"]);
        for _ in 0..2 {
            assert!(probe.iterate(cx).is_ready());
            probe.child(0);
            assert!(!probe.child_at_arm(1));
            spin(Duration::from_micros(50));
            probe.own();
            probe.own();
        }
        probe.pending();
    }
    let record = only(drain(&recorder));
    assert_eq!(
        record.children,
        [("short", 1), ("long", 1), ("short", 2), ("long", 2)]
    );
    assert_eq!(record.longest_child, Some("long"));
    assert_eq!(
        (record.outcome, record.children_lost),
        (Outcome::Pending, 0)
    );
    assert!(record.children_ns <= record.duration_ns);
    assert!(record.children_ns >= 100_000);
}

#[test]
fn a_child_that_is_open_when_the_function_ends_is_recorded() {
    let _alone = alone();
    let recorder = attached(SMALL);
    install("none", Mode::Children);
    {
        let mut probe = Invocation::enter(Site::Swarm, &["failing"]);
        assert!(
            probe
                .iterate(&mut Context::from_waker(Waker::noop()))
                .is_ready()
        );
        probe.child(0);
    }
    assert_eq!(only(drain(&recorder)).children, [("failing", 1)]);
}

#[test]
fn nested_invocations_keep_their_own_children() {
    let _alone = alone();
    let recorder = attached(SMALL);
    install("none", Mode::Children);
    let cx = &mut Context::from_waker(Waker::noop());
    {
        let mut outer = Invocation::enter(Site::Connection, &["a", "muxer", "b"]);
        assert!(outer.iterate(cx).is_ready());
        outer.child(0);
        outer.child(1);
        assert!(poll_site(Site::Muxer, 2, cx).is_ready());
        assert!(poll_site(Site::Muxer, 1, cx).is_ready());
        outer.child(2);
    }
    let records = drain(&recorder);
    let children: Vec<_> = records
        .iter()
        .map(|record| (record.site, record.children.clone()))
        .collect();
    assert_eq!(
        children,
        [
            (
                Site::Muxer,
                vec![("first", 1), ("second", 1), ("first", 2), ("second", 2)]
            ),
            (Site::Muxer, vec![("first", 1), ("second", 1)]),
            (Site::Connection, vec![("a", 1), ("muxer", 1), ("b", 1)]),
        ]
    );
    assert!(records[0].start_ns >= records[2].start_ns);
}

#[test]
fn a_full_buffer_counts_what_it_lost_and_goes_on() {
    let _alone = alone();
    let recorder = attached(Capacity {
        records: 10,
        spans: 0,
    });
    install("none", Mode::Minimal);
    let cx = &mut Context::from_waker(Waker::noop());
    for _ in 0..25 {
        assert!(poll_site(Site::Task, 1, cx).is_ready());
    }
    let drained = recorder.drain(|_| {});
    assert_eq!(
        (
            drained.records,
            drained.lost(Site::Task),
            drained.lost(Site::Swarm)
        ),
        (10, 15, 0)
    );
    assert!(poll_site(Site::Task, 1, cx).is_ready());
    let drained = recorder.drain(|_| {});
    assert_eq!((drained.records, drained.lost(Site::Task)), (1, 0));
}

#[test]
fn children_that_find_the_buffer_full_are_counted_in_their_record() {
    let _alone = alone();
    let recorder = attached(Capacity {
        records: 10,
        spans: 3,
    });
    install("none", Mode::Children);
    assert!(poll_site(Site::Connection, 4, &mut Context::from_waker(Waker::noop())).is_ready());
    let record = only(drain(&recorder));
    assert_eq!((record.children.len(), record.children_lost), (3, 5));
    assert!(record.longest_child.is_some());
}

#[test]
fn spans_of_lost_records_are_not_taken_for_those_of_others() {
    let _alone = alone();
    let recorder = attached(Capacity {
        records: 2,
        spans: 100,
    });
    install("none", Mode::Children);
    let cx = &mut Context::from_waker(Waker::noop());
    for _ in 0..3 {
        for wanted in 1..=5 {
            assert!(poll_site(Site::Connection, wanted, cx).is_ready());
        }
        for (record, iterations) in drain(&recorder).iter().zip(1..) {
            assert_eq!(record.iterations, iterations);
            assert_eq!(record.children.len(), 2 * iterations as usize);
        }
    }
}

#[test]
fn threads_without_a_recorder_are_counted() {
    let _alone = alone();
    install("none", Mode::Minimal);
    poll_probe::unattached(Site::Muxer);
    let polling = std::thread::spawn(|| {
        poll_site(Site::Muxer, 1, &mut Context::from_waker(Waker::noop())).is_ready()
    });
    assert!(polling.join().unwrap());
    assert_eq!(
        (
            poll_probe::unattached(Site::Muxer),
            poll_probe::unattached(Site::Muxer)
        ),
        (1, 0)
    );
}

#[test]
fn an_invocation_keeps_the_variant_that_it_began_under() {
    let _alone = alone();
    let recorder = attached(SMALL);
    let cx = &mut Context::from_waker(Waker::noop());
    let first = install("connection=2", Mode::Minimal);
    let mut probe = Invocation::enter(Site::Connection, &[]);
    let second = install("none", Mode::Off);
    assert!(
        probe.iterate(cx).is_ready()
            && probe.iterate(cx).is_ready()
            && probe.iterate(cx).is_pending()
    );
    drop(probe);
    assert_eq!(only(drain(&recorder)).variant, first);
    assert_ne!(first, second);
    assert_eq!(
        first,
        install("connection=2", Mode::Minimal),
        "the same variant has the same id"
    );
}

#[test]
fn many_threads_record_while_variants_change() {
    let _alone = alone();
    let recorder = Arc::new(Recorder::new(Capacity {
        records: 1 << 14,
        spans: 1 << 16,
    }));
    const POLLS: u64 = 5_000;
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let recorder = Arc::clone(&recorder);
            std::thread::spawn(move || {
                recorder.attach();
                for _ in 0..POLLS {
                    let polled =
                        poll_site(Site::Connection, 5, &mut Context::from_waker(Waker::noop()));
                    assert!(matches!(polled, Poll::Ready(5) | Poll::Pending));
                }
            })
        })
        .collect();
    let mut variants = Vec::new();
    let mut records = 0;
    let mut seen = |record: &Record<'_>| {
        records += 1;
        variants.push((record.variant, record.iterations));
    };
    let mut bounded = None;
    let mut unbounded = None;
    while threads.iter().any(|thread| !thread.is_finished()) {
        bounded = Some(install("connection=2", Mode::Minimal));
        unbounded = Some(install("none", Mode::Children));
        assert_eq!(recorder.drain(&mut seen).lost(Site::Connection), 0);
    }
    for thread in threads {
        thread.join().unwrap();
    }
    recorder.drain(&mut seen);
    assert!(records > 0 && records <= 4 * POLLS);
    for (variant, iterations) in variants {
        if Some(variant) == bounded {
            assert_eq!(iterations, 2);
        } else if Some(variant) == unbounded {
            assert_eq!(iterations, 5);
        }
    }
    install("none", Mode::Off);
}

#[test]
fn a_future_is_a_site_and_its_loop_is_bounded() {
    let _alone = alone();
    for (budgets, polls) in [
        ("none", 1),
        ("task=4", 3),
        ("task=4/deferred", 3),
        ("task=1/deferred", 10),
    ] {
        let recorder = attached(SMALL);
        install(budgets, Mode::Minimal);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(Probe::new(Site::Task).instrument(async {
            for _ in 0..10 {
                poll_probe::iterate().await;
            }
        }));
        let records = drain(&recorder);
        assert_eq!(records.len(), polls, "{budgets}");
        assert_eq!(
            records.iter().map(|record| record.iterations).sum::<u32>(),
            10,
            "{budgets}"
        );
        let (last, others) = records.split_last().unwrap();
        assert_eq!(last.outcome, Outcome::Ready, "{budgets}");
        assert!(
            others
                .iter()
                .all(|record| record.outcome == Outcome::Yielded),
            "{budgets}"
        );
    }
}

#[test]
fn a_future_that_waits_within_an_iteration_resumes_it() {
    let _alone = alone();
    let recorder = attached(SMALL);
    install("none", Mode::Children);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(
        Probe::new(Site::Task)
            .children(&["waiting"])
            .instrument(async {
                for _ in 0..2 {
                    poll_probe::iterate().await;
                    let mut waited = false;
                    poll_probe::poll_fn_child(|cx| {
                        if std::mem::replace(&mut waited, true) {
                            return Poll::Ready(());
                        }
                        cx.waker().wake_by_ref();
                        Poll::Pending
                    })
                    .await;
                }
            }),
    );
    let records = drain(&recorder);
    let seen: Vec<_> = records
        .iter()
        .map(|record| (record.iterations, record.outcome, record.children.len()))
        .collect();
    assert_eq!(
        seen,
        [
            (1, Outcome::Pending, 1),
            (2, Outcome::Pending, 2),
            (1, Outcome::Ready, 1)
        ]
    );
}

#[test]
fn iterate_outside_of_an_instrumented_future_does_nothing() {
    let _alone = alone();
    install("task=1", Mode::Minimal);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        for _ in 0..10 {
            poll_probe::iterate().await;
        }
    });
}

#[test]
fn a_panic_in_an_instrumented_future_leaves_the_thread_usable() {
    let _alone = alone();
    let recorder = attached(SMALL);
    install("none", Mode::Minimal);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        runtime.block_on(Probe::new(Site::Task).instrument(async { panic!("as planned") }));
    }));
    assert!(panicked.is_err());
    runtime.block_on(Probe::new(Site::Task).instrument(async { poll_probe::iterate().await }));
    assert_eq!(drain(&recorder).len(), 2);
}
