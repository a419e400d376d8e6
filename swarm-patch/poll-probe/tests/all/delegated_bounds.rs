//! Poll functions without a loop of their own, whose bounds a budget replaces.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::common::{self, MUXER, alone};
use poll_probe::delegated_bounds::{
    at_most, in_time, no_longer_than, reached, segments, wakes_now, with_delegated_bounds,
};
use poll_probe::{Capacity, Mode, Outcome, Recorder, Variant, child, child_ended};

const OWN: Duration = Duration::from_micros(50);

/// Polls the muxer once. Returns what the functions that it calls are told, and whether it wakes its task itself.
fn poll(reaches_bound: bool) -> ([usize; 2], Duration, usize, bool) {
    let cx = &mut Context::from_waker(Waker::noop());
    let mut told = ([0; 2], OWN, 0, false);
    let polled = with_delegated_bounds(MUXER, &["receive"], || {
        child(0);
        let counts = [at_most(160), segments(10)];
        told = (counts, no_longer_than(OWN), in_time(7, 1000.0), false);
        child_ended();
        assert_eq!(reached(reaches_bound), reaches_bound);
        told.3 = wakes_now(cx);
        Poll::<()>::Pending
    });
    assert!(polled.is_pending());
    told
}

#[test]
fn a_budget_takes_the_place_of_the_functions_own_bounds() {
    let _alone = alone();
    let recorder = Recorder::new(Capacity::default());
    recorder.attach();
    let us = Duration::from_micros;
    for (budgets, count, time, pieces, is_deferred) in [
        ("none", [160, 10], OWN, 7, false),
        ("muxer=32", [32, 10], OWN, 7, false),
        ("muxer=80x40", [80, 40], OWN, 7, false),
        ("muxer=25us", [160, 10], us(25), 25, false),
        (
            "muxer=1ns/deferred",
            [160, 10],
            Duration::from_nanos(1),
            1,
            true,
        ),
        ("task=32,connection=25us", [160, 10], OWN, 7, false),
    ] {
        let variant = Variant {
            budgets: common::budgets(budgets),
            mode: Mode::Children,
        };
        variant.install();
        for reaches_bound in [false, true] {
            let wakes = !(reaches_bound && is_deferred);
            assert_eq!(
                poll(reaches_bound),
                (count, time, pieces, wakes),
                "{budgets}"
            );
            let mut outcome = None;
            recorder.drain(|record| {
                assert_eq!(
                    (record.iterations, record.longest_iteration_ns),
                    (None, None)
                );
                assert_eq!(record.children.len(), 1);
                assert_eq!(record.children[0].child, "receive");
                outcome = Some(record.outcome);
            });
            let expected = match reaches_bound && budgets.starts_with("muxer") {
                true => Outcome::Yielded,
                false => Outcome::Pending,
            };
            assert_eq!(outcome, Some(expected), "{budgets}");
        }
    }
    // Outside of such a function the bounds stay.
    assert_eq!(
        (at_most(160), no_longer_than(OWN), in_time(7, 1.0)),
        (160, OWN, 7)
    );
}
