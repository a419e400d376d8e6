//! The record of an invocation, and the effect of a budget on it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::common::{
    CONNECTION, CountingWaker, MUXER, SMALL, alone, attached, block_on, context, drain, entered,
    install, only, poll_site, recording, spin,
};
use poll_probe::{Invocation, Mode, Outcome};

#[test]
fn an_invocation_without_a_budget_goes_round_as_often_as_it_likes() {
    let recorder = recording("none", Mode::Minimal);
    let variant = install("none", Mode::Minimal);
    assert_eq!(poll_site(MUXER, 1000, &mut context()), Poll::Ready(1000));
    let record = only(drain(&recorder));
    assert_eq!((record.site, record.variant), (MUXER, variant));
    assert_eq!((record.iterations, record.outcome), (1000, Outcome::Ready));
    assert!(record.longest_iteration_ns <= record.duration_ns);
    assert!(record.polls.is_empty());
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
        assert!(poll_site(CONNECTION, 4, &mut cx).is_pending(), "{mode:?}");
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1, "{mode:?}");
        assert!(poll_site(CONNECTION, 3, &mut cx).is_ready(), "{mode:?}");
        assert!(
            poll_site(MUXER, 4, &mut cx).is_ready(),
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
        assert!(poll_site(CONNECTION, 1, &mut context()).is_ready());
        let mut probe = Invocation::enter(CONNECTION, &[]);
        let cx = &mut context();
        assert!(probe.iterate(cx).is_ready());
        spin(Duration::from_micros(1));
        assert!(probe.iterate(cx).is_pending());
    }
    install("connection=1000s", Mode::Minimal);
    assert!(poll_site(CONNECTION, 50, &mut context()).is_ready());
    let iterations: Vec<u32> = drain(&recorder)
        .iter()
        .map(|record| record.iterations)
        .collect();
    assert_eq!(iterations, [1, 1, 50]);
}

#[test]
fn a_time_limit_is_that_long() {
    let recorder = recording("connection=5ms", Mode::Minimal);
    let cx = &mut context();
    {
        let mut probe = Invocation::enter(CONNECTION, &[]);
        while probe.iterate(cx).is_ready() {}
    }
    // On a busy machine it may be late, but never early. Limit and record share a clock, so only rounding
    // is allowed for.
    let record = only(drain(&recorder));
    assert_eq!(record.outcome, Outcome::Yielded);
    assert!(record.duration_ns >= 4_900_000, "{record:?}");
}

#[test]
fn coop_shares_tokios_budget_and_leaves_the_first_iteration_free() {
    let recorder = recording("connection=coop", Mode::Minimal);
    let counts = block_on(async {
        tokio::spawn(async {
            let mut counts = Vec::new();
            // A task may do 128 operations in a poll. An idle invocation costs none of them.
            std::future::poll_fn(|cx| {
                assert!(poll_site(CONNECTION, 1, cx).is_ready());
                counts.push(poll_site(CONNECTION, 10_000, cx).is_pending());
                // If no unit is left, not even the first iteration runs.
                counts.push(poll_site(CONNECTION, 1, cx).is_pending());
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

/// This holds however long the machine spins, apart from rounding to a nanosecond.
#[test]
fn polls_of_children_follow_one_another_and_the_longest_iteration_is_no_shorter_than_any() {
    let recorder = recording("none", Mode::Children);
    spun_three_times();
    let record = only(drain(&recorder));
    assert_eq!(record.polls.len(), 6);
    assert!(record.polls.iter().any(|poll| poll.offset_ns > 0));
    for pair in record.polls.windows(2) {
        let end_ns = pair[0].offset_ns + pair[0].duration_ns;
        assert!(end_ns <= pair[1].offset_ns + 1, "{record:?}");
    }
    let last = record.polls.last().unwrap();
    assert!(last.offset_ns + last.duration_ns <= record.duration_ns + 1);

    let in_children_ns = [1, 2, 3].map(|iteration| record.children_ns(iteration));
    let longest_ns = record.longest_iteration_ns;
    for children_ns in in_children_ns {
        assert!(longest_ns + 2 >= children_ns, "{record:?}");
    }
    // The iterations add up to the whole invocation.
    let off_cpu_ns: u64 = record.polls.iter().map(|poll| poll.off_cpu_ns).sum();
    assert!(
        3 * longest_ns + 3 >= record.duration_ns - off_cpu_ns,
        "{record:?}"
    );
    // No other iteration's time is in the longest one.
    let most_ns = in_children_ns.iter().max().unwrap();
    let others_ns = in_children_ns.iter().sum::<u64>() - most_ns;
    assert!(
        longest_ns + others_ns <= record.duration_ns + 6,
        "{record:?}"
    );
}

/// Three iterations, of which the second spins longest, in its second child.
fn spun_three_times() {
    let cx = &mut context();
    let mut probe = Invocation::enter(CONNECTION, &["first", "second"]);
    for spun_us in [[20, 30], [20, 200], [20, 30]] {
        assert!(probe.iterate(cx).is_ready());
        for (child, us) in (0..).zip(spun_us) {
            probe.child(child);
            spin(Duration::from_micros(us));
        }
        probe.child_ended();
    }
}

#[test]
fn nested_invocations_keep_their_own_children() {
    let recorder = recording("none", Mode::Children);
    let cx = &mut context();
    {
        let mut outer = entered(CONNECTION, &["a", "muxer", "b"]);
        outer.child(0);
        outer.child(1);
        assert!(poll_site(MUXER, 2, cx).is_ready());
        assert!(poll_site(MUXER, 1, cx).is_ready());
        outer.child(2);
    }
    let records = drain(&recorder);
    let children: Vec<_> = records
        .iter()
        .map(|record| (record.site, record.children()))
        .collect();
    assert_eq!(
        children,
        [
            (
                MUXER,
                vec![("first", 1), ("second", 1), ("first", 2), ("second", 2)]
            ),
            (MUXER, vec![("first", 1), ("second", 1)]),
            (CONNECTION, vec![("a", 1), ("muxer", 1), ("b", 1)]),
        ]
    );
    assert!(records[0].start_ns >= records[2].start_ns);
}

#[test]
fn an_invocation_keeps_the_variant_that_it_began_under() {
    let _alone = alone();
    let recorder = attached(SMALL);
    let cx = &mut context();
    let first = install("connection=2", Mode::Minimal);
    let mut probe = Invocation::enter(CONNECTION, &[]);
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
fn without_marks_there_is_an_outcome_and_no_iteration() {
    let recorder = recording("connection=1", Mode::Children);
    for polled in [Poll::Ready(1), Poll::Pending] {
        let mut probe = Invocation::enter_unmarked(CONNECTION);
        probe.returns(&polled);
    }
    let mut outcomes = Vec::new();
    recorder.drain(|record| {
        assert_eq!(
            (record.iterations, record.longest_iteration_ns),
            (None, None)
        );
        assert!(record.children.is_empty());
        outcomes.push(record.outcome);
    });
    assert_eq!(outcomes, [Outcome::Ready, Outcome::Pending]);
}

#[test]
fn without_marks_there_is_no_bound() {
    let _alone = alone();
    let recorder = attached(SMALL);
    for budget in [
        "none",
        "connection=1",
        "connection=4294967295",
        "connection=1ns",
        "connection=coop",
    ] {
        for mode in [Mode::Off, Mode::Minimal, Mode::Children] {
            install(budget, mode);
            let wakes = Arc::new(CountingWaker::default());
            let waker = Waker::from(Arc::clone(&wakes));
            let mut cx = Context::from_waker(&waker);
            let mut probe = Invocation::enter_unmarked(CONNECTION);
            for _ in 0..3 {
                assert!(probe.iterate(&mut cx).is_ready(), "{budget} {mode:?}");
                probe.count();
            }
            drop(probe);
            assert_eq!(wakes.0.load(Ordering::Relaxed), 0, "{budget} {mode:?}");
        }
    }
    recorder.drain(|record| {
        assert_eq!((record.iterations, record.outcome), (None, Outcome::Ready));
        assert!(record.iteration_ends.is_empty());
    });
}

#[test]
fn what_is_returned_does_not_hide_that_the_budget_was_spent() {
    let recorder = recording("connection=1", Mode::Minimal);
    {
        let mut probe = Invocation::enter(CONNECTION, &[]);
        assert!(probe.iterate(&mut context()).is_ready());
        assert!(probe.iterate(&mut context()).is_pending());
        probe.returns(&Poll::<()>::Pending);
    }
    assert_eq!(only(drain(&recorder)).outcome, Outcome::Yielded);
}

#[test]
fn turns_of_loops_that_cannot_be_left_count_all_the_same() {
    let recorder = recording("connection=3", Mode::Minimal);
    {
        let mut probe = Invocation::enter(CONNECTION, &[]);
        (0..5).for_each(|_| probe.count());
        assert!(probe.iterate(&mut context()).is_pending());
    }
    let record = only(drain(&recorder));
    assert_eq!((record.iterations, record.outcome), (5, Outcome::Yielded));
}
