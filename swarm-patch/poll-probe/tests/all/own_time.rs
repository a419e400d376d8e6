//! What a thread does not run is no part of the own time of what it polls. A thread that sleeps in a poll loses that time
//! in the same way as one that the kernel interrupts.

use std::thread::sleep;
use std::time::Duration;

use crate::common::{CONNECTION, MUXER, context, drain, only, recording, spin};
use poll_probe::{ChildPoll, Invocation, Mode, Record};

const LOST: Duration = Duration::from_millis(3);
const LOST_NS: u64 = LOST.as_nanos() as u64;
const RAN: Duration = Duration::from_micros(200);
const RAN_NS: u64 = RAN.as_nanos() as u64;
/// How much the readings of two clocks differ.
const SLACK_NS: u64 = 20_000;

fn own_ns(poll: &ChildPoll) -> u64 {
    poll.own_ns()
}

#[test]
fn what_a_poll_lost_is_no_part_of_its_own_time() {
    let recorder = recording("none", Mode::Minimal);
    for _ in 0..3 {
        {
            let _invocation = Invocation::enter(CONNECTION, &[]);
            spin(RAN);
            sleep(LOST);
            spin(RAN);
        }
        let mut seen = 0;
        recorder.drain(|record: &Record<'_>| {
            assert!(record.off_cpu_ns >= LOST_NS - SLACK_NS, "{record:?}");
            assert!(record.own_ns() >= 2 * RAN_NS - SLACK_NS, "{record:?}");
            assert_eq!(record.own_ns() + record.off_cpu_ns, record.duration_ns);
            seen += 1;
        });
        assert_eq!(seen, 1);
    }
}

#[test]
fn a_pause_before_a_poll_is_not_its_loss() {
    let recorder = recording("none", Mode::Minimal);
    drop(Invocation::enter(CONNECTION, &[]));
    sleep(LOST);
    {
        let _invocation = Invocation::enter(CONNECTION, &[]);
        spin(2 * RAN);
    }
    let mut own_ns = Vec::new();
    recorder.drain(|record: &Record<'_>| own_ns.push(record.own_ns()));
    assert!(own_ns[1] >= 2 * RAN_NS - SLACK_NS, "{own_ns:?}");
}

#[test]
fn every_site_around_a_loss_has_it_and_none_beside_it() {
    let recorder = recording("none", Mode::Minimal);
    {
        let _around = Invocation::enter(CONNECTION, &[]);
        {
            let _inside = Invocation::enter(MUXER, &[]);
            spin(RAN);
            sleep(LOST);
        }
        let _beside = Invocation::enter(MUXER, &[]);
        spin(2 * RAN);
    }
    let mut all = Vec::new();
    recorder.drain(|record: &Record<'_>| all.push((record.off_cpu_ns, record.own_ns())));
    let [(inside, _), (beside, beside_own), (around, _)] = all[..] else {
        panic!("{all:?}");
    };
    assert!(inside >= LOST_NS - SLACK_NS, "{all:?}");
    assert!(beside_own >= 2 * RAN_NS - SLACK_NS, "{all:?}");
    assert!(around >= inside + beside, "{all:?}");
}

#[test]
fn the_child_that_lost_time_is_the_one_whose_own_time_lacks_it() {
    let recorder = recording("none", Mode::Children);
    {
        let mut probe = Invocation::enter(CONNECTION, &["quick", "interrupted"]);
        assert!(probe.iterate(&mut context()).is_ready());
        probe.child(0);
        spin(RAN);
        probe.child(1);
        spin(RAN);
        sleep(LOST);
        probe.child_ended();
        spin(RAN);
        assert!(probe.iterate(&mut context()).is_ready());
    }
    let record = only(drain(&recorder));
    let [quick, interrupted] = &record.polls[..] else {
        panic!("{record:?}");
    };
    assert!(quick.off_cpu_ns < LOST_NS, "{record:?}");
    assert!(own_ns(quick) >= RAN_NS - SLACK_NS, "{record:?}");
    assert!(interrupted.off_cpu_ns >= LOST_NS - SLACK_NS, "{record:?}");
    // The iteration's end is told by what the invocation had run.
    let end_ns = record.iteration_ends[0].own_ns;
    assert!(end_ns >= own_ns(quick) + own_ns(interrupted), "{record:?}");
    assert!(
        end_ns + LOST_NS <= record.duration_ns + SLACK_NS,
        "{record:?}"
    );
    assert!(record.longest_iteration_ns + LOST_NS <= record.duration_ns + SLACK_NS);
}

#[test]
fn a_child_that_polls_a_site_does_not_have_the_loss_of_the_child_before_it() {
    let recorder = recording("none", Mode::Children);
    {
        let mut probe = Invocation::enter(CONNECTION, &["interrupted", "with a site"]);
        probe.child(0);
        sleep(LOST);
        probe.child(1);
        let inside = Invocation::enter(MUXER, &[]);
        spin(RAN);
        drop(inside);
    }
    let around = drain(&recorder).remove(1);
    let [interrupted, with_site] = &around.polls[..] else {
        panic!("{around:?}");
    };
    assert!(interrupted.off_cpu_ns >= LOST_NS - SLACK_NS, "{around:?}");
    assert!(own_ns(with_site) >= RAN_NS - SLACK_NS, "{around:?}");
}
