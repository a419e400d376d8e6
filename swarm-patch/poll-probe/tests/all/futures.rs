//! Futures as sites.

use std::cell::Cell;
use std::future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use crate::common::{
    CONNECTION, CountingWaker, SMALL, TASK, alone, attached, block_on, context, drain, install,
    only, recording,
};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use poll_probe::{Mode, Outcome, Probe, iterate};

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
        block_on(Probe::new(TASK).instrument(async {
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
    let recorder = recording("none", Mode::Children);
    block_on(Probe::new(TASK).children(&["waiting"]).instrument(async {
        for _ in 0..2 {
            poll_probe::iterate().await;
            let mut waited = false;
            future::poll_fn(|cx| {
                poll_probe::child(0);
                poll_probe::child_ended();
                if std::mem::replace(&mut waited, true) {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        }
    }));
    let records = drain(&recorder);
    let seen: Vec<_> = records
        .iter()
        .map(|record| (record.iterations, record.outcome, record.polls.len()))
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
    block_on(async {
        for _ in 0..10 {
            poll_probe::iterate().await;
        }
    });
}

#[test]
fn a_panic_in_an_instrumented_future_leaves_the_thread_usable() {
    let recorder = recording("none", Mode::Minimal);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        block_on(Probe::new(TASK).instrument(async { panic!("as planned") }));
    }));
    assert!(panicked.is_err());
    block_on(Probe::new(TASK).instrument(async { poll_probe::iterate().await }));
    let drained = recorder.drain(|record| assert_eq!(record.iterations, Some(1)));
    assert_eq!((drained.records, drained.lost(TASK)), (1, 1));
}

#[test]
fn a_future_that_completes_after_one_of_its_loops_yielded_is_ready() {
    let recorder = recording("task=2", Mode::Minimal);
    let future = Probe::new(TASK).instrument(async {
        let endless = async {
            loop {
                iterate().await;
            }
        };
        futures::future::select(pin!(endless), future::ready(())).await;
    });
    assert!(pin!(future).poll(&mut context()).is_ready());
    let record = only(drain(&recorder));
    assert_eq!((record.iterations, record.outcome), (2, Outcome::Ready));
}

#[test]
fn loops_inside_one_future_share_its_budget_and_all_come_to_their_end() {
    const LOOPS: u32 = 8;
    const ROUNDS: u32 = 10;
    let _alone = alone();
    for (budgets, at_most) in [("task=1", 1), ("task=3", 3), ("task=2/deferred", 2)] {
        let recorder = attached(SMALL_BUT_ENOUGH);
        install(budgets, Mode::Minimal);
        let done = Cell::new(0);
        let a_loop = || async {
            for _ in 0..ROUNDS {
                iterate().await;
                done.set(done.get() + 1);
            }
        };
        let loops: FuturesUnordered<_> = (0..LOOPS).map(|_| a_loop()).collect();
        let mut future = pin!(Probe::new(TASK).instrument(loops.collect::<Vec<()>>()));
        let wakes = Arc::new(CountingWaker::default());
        let waker = Waker::from(Arc::clone(&wakes));
        loop {
            let before = done.get();
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(done.get() - before <= at_most, "{budgets}");
            if polled.is_ready() {
                break;
            }
            assert!(
                wakes.0.swap(0, Ordering::Relaxed) > 0,
                "{budgets}: nobody would poll again"
            );
        }
        assert_eq!(done.get(), LOOPS * ROUNDS, "{budgets}");
        let iterations: u32 = drain(&recorder)
            .iter()
            .map(|record| record.iterations)
            .sum();
        assert_eq!(iterations, LOOPS * ROUNDS, "{budgets}");
    }
}

const SMALL_BUT_ENOUGH: poll_probe::Capacity = poll_probe::Capacity {
    records: 1 << 10,
    marks: 0,
};

#[test]
fn what_a_future_waits_for_before_its_loop_is_no_iteration() {
    let recorder = recording("task=1", Mode::Minimal);
    block_on(Probe::new(TASK).instrument(async {
        tokio::task::yield_now().await;
        iterate().await;
        tokio::task::yield_now().await;
    }));
    let iterations: Vec<u32> = drain(&recorder)
        .iter()
        .map(|record| record.iterations)
        .collect();
    assert_eq!(iterations, [0, 1, 1]);
}

#[test]
fn a_future_inside_another_leaves_the_invocation_around_it_to_the_outer_one() {
    let recorder = recording("none", Mode::Minimal);
    block_on(Probe::new(TASK).instrument(async {
        iterate().await;
        Probe::new(CONNECTION).instrument(iterate()).await;
        iterate().await;
    }));
    let seen: Vec<_> = drain(&recorder)
        .iter()
        .map(|record| (record.site, record.iterations))
        .collect();
    assert_eq!(seen, [(CONNECTION, 1), (TASK, 2)]);
}

#[test]
fn once_a_loop_yielded_no_other_goes_on_in_that_poll_even_with_units_of_its_own() {
    let recorder = recording("task=coop", Mode::Minimal);
    block_on(Probe::new(TASK).instrument(async {
        let greedy = async {
            for _ in 0..200 {
                iterate().await;
            }
        };
        futures::join!(greedy, tokio::task::unconstrained(iterate()));
    }));
    let first = &drain(&recorder)[0];
    assert_eq!((first.iterations, first.outcome), (129, Outcome::Yielded));
}
