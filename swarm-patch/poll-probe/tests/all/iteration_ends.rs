//! The ends of iterations, at which a budget could have ended an invocation.

use crate::common::{
    CONNECTION, Kept, MUXER, SMALL, alone, attached, context, drain, install, only, poll_site,
    recording,
};
use poll_probe::{Invocation, Mode};

fn iterations_at_ends(kept: &Kept) -> Vec<u32> {
    let ends = kept.iteration_ends.iter();
    ends.map(|end| end.iterations).collect()
}

#[test]
fn every_iteration_but_the_last_has_an_end_in_the_mode_children_alone() {
    let _alone = alone();
    let recorder = attached(SMALL);
    for (mode, ends) in [
        (Mode::Children, vec![1, 2, 3]),
        (Mode::Minimal, vec![]),
        (Mode::Metered, vec![]),
    ] {
        install("none", mode);
        assert!(poll_site(MUXER, 4, &mut context()).is_ready());
        let record = only(drain(&recorder));
        assert_eq!(iterations_at_ends(&record), ends);
        let at: Vec<u64> = record.iteration_ends.iter().map(|end| end.own_ns).collect();
        assert!(at.is_sorted() && at.iter().all(|ns| *ns <= record.duration_ns));
    }
}

#[test]
fn there_is_none_where_no_budget_can_end_the_invocation() {
    let recorder = recording("none", Mode::Children);
    let cx = &mut context();
    {
        let mut probe = Invocation::enter(CONNECTION, &[]);
        probe.count();
        probe.count();
        assert!(probe.iterate(cx).is_ready());
        assert!(probe.iterate(cx).is_ready());
    }
    assert_eq!(iterations_at_ends(&only(drain(&recorder))), [2, 3]);
}
