//! The buffers that keep records until a drain, also when they are full.

use std::sync::Arc;
use std::task::Poll;
use std::thread;

use crate::common::{
    CONNECTION, MUXER, SMALL, SWARM, TASK, alone, attached, context, drain, entered, install, only,
    poll_site, recording, recording_into,
};
use poll_probe::{Capacity, Invocation, Mode, Record, Recorder, SiteId};

#[test]
fn a_full_buffer_counts_what_it_lost_and_goes_on() {
    let recorder = recording_into(10, 0, Mode::Minimal);
    let cx = &mut context();
    for _ in 0..25 {
        assert!(poll_site(TASK, 1, cx).is_ready());
    }
    let drained = recorder.drain(|_| {});
    assert_eq!(
        (drained.records, drained.lost(TASK), drained.lost(SWARM)),
        (10, 15, 0)
    );
    assert!(poll_site(TASK, 1, cx).is_ready());
    let drained = recorder.drain(|_| {});
    assert_eq!((drained.records, drained.lost(TASK)), (1, 0));
}

#[test]
fn children_that_find_the_buffer_full_are_counted_in_their_record() {
    let recorder = recording_into(10, 4, Mode::Children);
    assert!(poll_site(CONNECTION, 4, &mut context()).is_ready());
    let record = only(drain(&recorder));
    assert_eq!(record.children(), [("first", 1), ("second", 1)]);
    // There are four iterations of two children. The ends of the first three iterations are recorded.
    assert_eq!(record.entries_lost, 4 * 2 + 3 - 2);
    // The last place is for the end of the last child.
    let ns = record
        .polls
        .iter()
        .map(|poll| poll.duration_ns)
        .sum::<u64>();
    assert!(ns < record.duration_ns);
}

#[test]
fn children_of_lost_records_are_not_taken_for_those_of_others() {
    let recorder = recording_into(2, 100, Mode::Children);
    let cx = &mut context();
    for _ in 0..3 {
        for wanted in 1..=5 {
            assert!(poll_site(CONNECTION, wanted, cx).is_ready());
        }
        for (record, iterations) in drain(&recorder).iter().zip(1..) {
            assert_eq!(record.iterations, iterations);
            assert_eq!(record.polls.len(), 2 * iterations as usize);
        }
    }
}

#[test]
fn many_threads_record_while_variants_change() {
    let _alone = alone();
    let recorder = Arc::new(Recorder::new(Capacity {
        records: 1 << 14,
        marks: 1 << 16,
    }));
    const POLLS: u64 = 5_000;
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let recorder = Arc::clone(&recorder);
            thread::spawn(move || {
                recorder.attach();
                for _ in 0..POLLS {
                    let polled = poll_site(CONNECTION, 5, &mut context());
                    assert!(matches!(polled, Poll::Ready(5) | Poll::Pending));
                }
            })
        })
        .collect();
    let mut variants = Vec::new();
    let mut records = 0;
    let mut seen = |record: &Record<'_>| {
        records += 1;
        variants.push((record.variant, record.iterations.unwrap_or(0)));
    };
    let mut bounded = None;
    let mut unbounded = None;
    while threads.iter().any(|thread| !thread.is_finished()) {
        bounded = Some(install("connection=2", Mode::Minimal));
        unbounded = Some(install("none", Mode::Children));
        assert_eq!(recorder.drain(&mut seen).lost(CONNECTION), 0);
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
fn children_without_a_record_do_not_fill_the_buffer_for_ever() {
    let recorder = recording_into(4, 16, Mode::Minimal);
    let cx = &mut context();
    for _ in 0..4 {
        assert!(poll_site(CONNECTION, 1, cx).is_ready());
    }
    // There is room for the children of these invocations, but not for their records.
    install("none", Mode::Children);
    for _ in 0..20 {
        assert!(poll_site(CONNECTION, 1, cx).is_ready());
    }
    drain(&recorder);
    assert!(poll_site(CONNECTION, 1, cx).is_ready());
    let record = only(drain(&recorder));
    assert_eq!((record.polls.len(), record.entries_lost), (2, 0));
}

#[test]
fn an_invocation_under_way_during_a_drain_keeps_its_children() {
    let recorder = recording("none", Mode::Children);
    let cx = &mut context();
    let mut outer = entered(CONNECTION, &["before", "after"]);
    outer.child(0);
    outer.child_ended();
    assert!(poll_site(MUXER, 1, cx).is_ready());
    assert_eq!(only(drain(&recorder)).site, MUXER);
    outer.child(1);
    drop(outer);
    let record = only(drain(&recorder));
    assert_eq!(record.children(), [("before", 1), ("after", 1)]);
    assert_eq!(record.entries_lost, 0);
}

#[test]
fn children_are_kept_however_many_records_are_lost_meanwhile() {
    let recorder = recording_into(2, 4096, Mode::Children);
    let cx = &mut context();
    let mut outer = entered(CONNECTION, &["early", "late"]);
    outer.child(0);
    outer.child_ended();
    for _ in 0..100 {
        assert!(poll_site(MUXER, 1, cx).is_ready());
    }
    drain(&recorder);
    outer.child(1);
    drop(outer);
    let record = only(drain(&recorder));
    assert_eq!(record.children(), [("early", 1), ("late", 1)]);
    assert_eq!(record.entries_lost, 0);
}

#[test]
fn children_of_invocations_that_do_not_nest_are_counted_and_taken_for_no_other() {
    let recorder = recording("none", Mode::Children);
    let mut one = entered(CONNECTION, &["of one"]);
    one.child(0);
    let mut other = entered(MUXER, &["of the other"]);
    other.child(0);
    one.child_ended();
    drop(one);
    drop(other);
    let cx = &mut context();
    assert!(poll_site(TASK, 1, cx).is_ready());
    let lost: Vec<(SiteId, usize, u16)> = drain(&recorder)
        .iter()
        .map(|record| (record.site, record.polls.len(), record.entries_lost))
        .collect();
    assert_eq!(lost, [(CONNECTION, 0, 1), (MUXER, 0, 1), (TASK, 2, 0)]);
}

#[test]
fn children_from_before_the_thread_was_attached_are_counted() {
    let _alone = alone();
    let _former = attached(SMALL);
    install("none", Mode::Children);
    let cx = &mut context();
    let mut outer = entered(CONNECTION, &["a"]);
    outer.child(0);
    outer.child_ended();
    let recorder = attached(SMALL);
    assert!(poll_site(MUXER, 1, cx).is_ready());
    outer.child(0);
    drop(outer);
    let records = drain(&recorder);
    assert_eq!(records.len(), 2);
    assert_eq!((records[1].polls.len(), records[1].entries_lost), (0, 2));
}

#[test]
fn threads_are_numbered_as_they_were_attached_whichever_records_first() {
    let _alone = alone();
    install("none", Mode::Minimal);
    let recorder = Arc::new(attached(SMALL));
    let other = Arc::clone(&recorder);
    let polling = thread::spawn(move || {
        other.attach();
        poll_site(MUXER, 1, &mut context()).is_ready()
    });
    assert!(polling.join().unwrap());
    assert!(poll_site(TASK, 1, &mut context()).is_ready());
    let mut threads: Vec<(usize, SiteId)> = drain(&recorder)
        .iter()
        .map(|record| (record.thread, record.site))
        .collect();
    threads.sort_unstable();
    assert_eq!(threads, [(0, TASK), (1, MUXER)]);
    // The other thread has ended, and the number of this one stays.
    assert!(poll_site(TASK, 1, &mut context()).is_ready());
    assert_eq!(only(drain(&recorder)).thread, 0);
}

#[test]
fn what_a_thread_recorded_before_it_ended_is_drained() {
    let _alone = alone();
    install("none", Mode::Children);
    let recorder = Arc::new(Recorder::new(Capacity {
        records: 2,
        marks: 64,
    }));
    let other = Arc::clone(&recorder);
    let polling = thread::spawn(move || {
        other.attach();
        for _ in 0..3 {
            let _ = poll_site(MUXER, 1, &mut context());
        }
    });
    polling.join().unwrap();
    let mut children = 0;
    let drained = recorder.drain(|record| children += record.children.len());
    assert_eq!((drained.records, drained.lost(MUXER), children), (2, 1, 4));
    assert_eq!(recorder.drain(|_| {}), poll_probe::Drained::default());
}

#[test]
fn a_recorder_for_all_threads_has_those_that_no_other_one_has() {
    let _alone = alone();
    let all = Arc::new(Recorder::new(SMALL));
    all.attach_all();
    install("none", Mode::Minimal);
    let polling = |is_attached: bool| {
        let polling = thread::spawn(move || {
            let own = is_attached.then(|| attached(SMALL));
            assert!(poll_site(MUXER, 1, &mut context()).is_ready());
            own.map_or(0, |own| drain(&own).len())
        });
        polling.join().unwrap()
    };
    assert_eq!((polling(false), drain(&all).len()), (0, 1));
    assert_eq!((polling(true), drain(&all).len()), (1, 0));
    drop(all);
    assert_eq!(polling(false), 0);
}

#[test]
fn a_thread_whose_recorder_is_gone_goes_on() {
    let _alone = alone();
    install("none", Mode::Minimal);
    drop(attached(SMALL));
    assert!(poll_site(MUXER, 1, &mut context()).is_ready());
}

#[test]
fn an_invocation_that_a_panic_goes_through_is_counted_and_has_no_record() {
    let recorder = recording("none", Mode::Children);
    let panicked = std::panic::catch_unwind(|| {
        let mut probe = Invocation::enter(CONNECTION, &["panicking"]);
        probe.child(0);
        panic!("as planned");
    });
    assert!(panicked.is_err());
    let drained = recorder.drain(|_| {});
    assert_eq!((drained.records, drained.lost(CONNECTION)), (0, 1));
}
