//! The counts of a meter, and the children that they belong to.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use crate::common::{
    CONNECTION, MUXER, Probed, SMALL, SWARM, TASK, alone, context, drain, entered, install, only,
    poll_site, recording,
};
use poll_probe::{Capacity, Invocation, MeterCounts, Mode, Probe, Reading, Recorder, SiteId};

thread_local! {
    static DONE: Cell<u64> = const { Cell::new(0) };
    static READ: Cell<u64> = const { Cell::new(0) };
}

/// Does work for the meter to count.
fn work(count: u64) {
    DONE.set(DONE.get() + count);
}

/// Counts the work, and in the last counter how often it was read.
fn meter(counts: &mut MeterCounts) {
    READ.set(READ.get() + 1);
    counts[0] = DONE.get();
    counts[1] = 1000 * DONE.get();
    *counts.last_mut().unwrap() = READ.get();
}

fn metered(capacity: Capacity, readings: usize) -> Probed {
    let recorder = Recorder::with_meter(capacity, readings, meter);
    Probed::new(recorder, "none", Mode::Metered)
}

/// Each child with the work that was counted for it.
fn counted(readings: &[Reading]) -> Vec<(Option<&'static str>, u64)> {
    readings
        .iter()
        .map(|reading| {
            assert_eq!(reading.counts[1], 1000 * reading.counts[0]);
            assert_eq!(reading.counts[2..9], [0; 7]);
            (reading.child, reading.counts[0])
        })
        .collect()
}

/// An invocation whose own code does 16 units of work, and whose children do 10, 20, 30 and 40.
fn two_iterations(site: SiteId) {
    let cx = &mut context();
    let mut probe = Invocation::enter(site, &["first", "second", "never"]);
    work(1);
    for iteration in 0..2 {
        assert!(probe.iterate(cx).is_ready());
        work(2);
        probe.child(0);
        work(10 + 20 * iteration);
        probe.child(1);
        work(20 + 20 * iteration);
        probe.child_ended();
        probe.child_ended();
        work(3);
    }
    work(5);
    probe.pending();
}

#[test]
fn each_child_and_the_own_code_have_their_part() {
    let recorder = metered(SMALL, 64);
    work(100);
    two_iterations(CONNECTION);
    work(100);
    two_iterations(CONNECTION);
    for record in drain(&recorder) {
        assert_eq!(
            counted(&record.readings),
            [
                (Some("first"), 10),
                (Some("second"), 20),
                (Some("first"), 30),
                (Some("second"), 40),
                (None, 1 + 2 * (2 + 3) + 5),
            ]
        );
        // The record has the same children in the same order.
        let children: Vec<_> = record.polls.iter().map(|poll| Some(poll.child)).collect();
        let metered: Vec<_> = record.readings[..4]
            .iter()
            .map(|reading| reading.child)
            .collect();
        assert_eq!(children, metered);
        assert_eq!((record.iterations, record.readings_lost), (2, 0));
        assert!(record.children_ns(1) + record.children_ns(2) <= record.duration_ns);
    }
}

#[test]
fn a_child_that_is_open_at_the_end_and_one_without_any_are_metered() {
    let recorder = metered(SMALL, 64);
    {
        let mut probe = entered(SWARM, &["failing"]);
        work(1);
        probe.child(0);
        work(10);
    }
    {
        let _probe = Invocation::enter(SWARM, &[]);
        work(7);
    }
    let records = drain(&recorder);
    assert_eq!(
        counted(&records[0].readings),
        [(Some("failing"), 10), (None, 1)]
    );
    assert_eq!(counted(&records[1].readings), [(None, 7)]);
}

#[test]
fn sites_inside_others_count_for_the_child_around() {
    let recorder = metered(SMALL, 64);
    let mut task = Box::pin(
        Probe::new(TASK)
            .children(&["connection"])
            .instrument(async {
                work(1);
                poll_probe::iterate().await;
                poll_fn(|_| {
                    poll_probe::child(0);
                    work(10);
                    let mut outer = entered(CONNECTION, &["a", "muxer", "b"]);
                    outer.child(0);
                    work(100);
                    outer.child(1);
                    work(1000);
                    two_iterations(MUXER);
                    two_iterations(MUXER);
                    outer.child(2);
                    drop(outer);
                    poll_probe::child_ended();
                    Poll::Ready(())
                })
                .await;
                work(2);
                poll_fn(|_| Poll::<()>::Pending).await;
            }),
    );
    assert!(task.as_mut().poll(&mut context()).is_pending());
    let records = drain(&recorder);
    let muxer = [
        (Some("first"), 10),
        (Some("second"), 20),
        (Some("first"), 30),
        (Some("second"), 40),
        (None, 16),
    ];
    let in_muxers = 2 * 116;
    let found: Vec<_> = records
        .iter()
        .map(|record| (record.site, counted(&record.readings)))
        .collect();
    assert_eq!(
        found,
        [
            (MUXER, muxer.to_vec()),
            (MUXER, muxer.to_vec()),
            (
                CONNECTION,
                vec![
                    (Some("a"), 100),
                    (Some("muxer"), 1000 + in_muxers),
                    (Some("b"), 0),
                    (None, 0),
                ]
            ),
            (
                TASK,
                vec![(Some("connection"), 1110 + in_muxers), (None, 3)]
            ),
        ]
    );
}

#[test]
fn a_meter_is_read_in_no_other_mode() {
    let recorder = metered(SMALL, 64);
    let before = READ.get();
    for mode in [Mode::Off, Mode::Minimal, Mode::Children] {
        install("none", mode);
        two_iterations(CONNECTION);
    }
    assert_eq!(READ.get(), before);
    let records = drain(&recorder);
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!((record.readings, record.readings_lost), (vec![], 0));
    }
}

#[test]
fn without_a_meter_children_are_recorded_and_nothing_is_missing() {
    let recorder = recording("none", Mode::Metered);
    two_iterations(CONNECTION);
    let record = only(drain(&recorder));
    assert_eq!(
        record.children(),
        [("first", 1), ("second", 1), ("first", 2), ("second", 2)]
    );
    assert_eq!((record.readings, record.readings_lost), (vec![], 0));
}

#[test]
fn budgets_hold_and_a_denied_iteration_is_metered() {
    let recorder = metered(SMALL, 64);
    install("connection=3", Mode::Metered);
    assert!(poll_site(CONNECTION, 4, &mut context()).is_pending());
    assert!(poll_site(CONNECTION, 3, &mut context()).is_ready());
    let records = drain(&recorder);
    assert_eq!(
        records.iter().map(|record| record.iterations).sum::<u32>(),
        6
    );
    for record in records {
        assert_eq!((record.readings.len(), record.readings_lost), (7, 0));
    }
}

#[test]
fn readings_without_room_are_counted_and_none_of_their_invocation_is_left() {
    // One of these invocations takes eight: at its beginning and end, before the first child of an iteration, and after each
    // child.
    let recorder = metered(SMALL, 15);
    two_iterations(CONNECTION);
    two_iterations(CONNECTION);
    let mut lost = Vec::new();
    let mut readings = Vec::new();
    recorder.drain(|record| {
        lost.push(record.readings_lost);
        readings.push(counted(record.readings));
    });
    assert_eq!(lost, [0, 5]);
    assert_eq!(readings[0].last(), Some(&(None, 16)));
    assert_eq!(readings[1], []);
    // After the drain there is room again.
    two_iterations(CONNECTION);
    let record = only(drain(&recorder));
    assert_eq!((record.readings.len(), record.readings_lost), (5, 0));
}

#[test]
fn readings_of_lost_records_are_taken_for_no_other() {
    let recorder = metered(
        Capacity {
            records: 2,
            marks: 512,
        },
        256,
    );
    for _ in 0..2 {
        for n in 1..=5 {
            let mut probe = entered(CONNECTION, &["child"]);
            probe.child(0);
            work(n);
            probe.child_ended();
            work(10 * n);
        }
        let records = drain(&recorder);
        let found: Vec<_> = records
            .iter()
            .map(|record| counted(&record.readings))
            .collect();
        let expected = |n| vec![(Some("child"), n), (None, 10 * n)];
        assert_eq!(found, [expected(1), expected(2)]);
    }
}

#[test]
fn a_panic_leaves_the_invocations_around_right() {
    let recorder = metered(SMALL, 256);
    // More often than invocations nest.
    for _ in 0..100 {
        let panic = catch_unwind(AssertUnwindSafe(|| {
            let mut probe = Invocation::enter(CONNECTION, &["child"]);
            probe.child(0);
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(panic.is_err());
    }
    {
        let mut outer = entered(CONNECTION, &["child"]);
        outer.child(0);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            let _inner = Invocation::enter(MUXER, &[]);
            work(1);
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(panic.is_err());
        work(10);
        outer.child_ended();
        work(100);
    }
    let record = only(drain(&recorder));
    assert_eq!(
        counted(&record.readings),
        [(Some("child"), 11), (None, 100)]
    );
}

#[test]
fn an_invocation_keeps_the_mode_that_it_began_in() {
    let recorder = metered(SMALL, 256);
    install("none", Mode::Children);
    let mut outer = entered(CONNECTION, &["child"]);
    install("none", Mode::Metered);
    outer.child(0);
    two_iterations(MUXER);
    drop(outer);
    let mut outer = entered(CONNECTION, &["child"]);
    install("none", Mode::Children);
    outer.child(0);
    two_iterations(MUXER);
    drop(outer);
    let readings: Vec<usize> = drain(&recorder)
        .iter()
        .map(|record| {
            assert_eq!(record.readings_lost, 0);
            record.readings.len()
        })
        .collect();
    assert_eq!(readings, [5, 0, 0, 2]);
}

#[test]
fn an_invocation_that_began_without_a_meter_counts_what_it_misses() {
    let _alone = alone();
    install("none", Mode::Metered);
    let mut early = Invocation::enter(CONNECTION, &["child"]);
    let recorder = Recorder::with_meter(SMALL, 256, meter);
    recorder.attach();
    // This one makes the buffers.
    two_iterations(MUXER);
    early.child(0);
    drop(early);
    let records = drain(&recorder);
    assert_eq!(
        (records[0].readings.len(), records[0].readings_lost),
        (5, 0)
    );
    assert_eq!(
        (records[1].readings.len(), records[1].readings_lost),
        (0, 2)
    );
}

#[test]
fn each_thread_has_its_own_counts() {
    let _alone = alone();
    let recorder = Arc::new(Recorder::with_meter(SMALL, 64, meter));
    install("none", Mode::Metered);
    let threads: Vec<_> = (1..=3)
        .map(|n| {
            let recorder = Arc::clone(&recorder);
            thread::spawn(move || {
                recorder.attach();
                let _probe = Invocation::enter(CONNECTION, &[]);
                work(n);
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let mut found: Vec<_> = drain(&recorder)
        .iter()
        .flat_map(|record| counted(&record.readings))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [(None, 1), (None, 2), (None, 3)]);
}
