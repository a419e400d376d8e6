//! A process whose variant another one chooses. This is a program of its own, since following has no end.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Waker};

use poll_probe::{Budgets, Invocation, Mode, Site, Variant, count_yields, follow};

static NUMBER: AtomicU32 = AtomicU32::new(0);
static YIELDS: AtomicU64 = AtomicU64::new(0);

const SITE: Site = Site::new(2);

fn iterations() -> usize {
    let cx = &mut Context::from_waker(Waker::noop());
    let mut invocation = Invocation::enter(SITE, &[]);
    let most = 0..10;
    most.take_while(|_| invocation.iterate(cx).is_ready())
        .count()
}

#[test]
fn every_poll_has_the_variant_whose_number_was_written_last() {
    let variant = |budgets: Budgets| Variant {
        budgets,
        mode: Mode::Off,
    };
    let bounded = Budgets::NONE.with(SITE, "2".parse().unwrap());
    count_yields(&YIELDS);
    follow(
        &NUMBER,
        [Budgets::NONE, bounded, Budgets::NONE.with_remedy(0, 3)].map(variant),
    );
    for (number, allowed, yields, way) in [
        (0, 10, 0, 0),
        (1, 2, 1, 0),
        (2, 10, 1, 3),
        (1, 2, 2, 0),
        (9, 10, 2, 0),
    ] {
        NUMBER.store(number, Ordering::Release);
        assert_eq!(iterations(), allowed, "{number}");
        assert_eq!(YIELDS.load(Ordering::Relaxed), yields, "{number}");
        assert_eq!(Invocation::enter(SITE, &[]).remedy(0), way, "{number}");
    }
    // One that is under way keeps its variant.
    NUMBER.store(2, Ordering::Release);
    let under_way = Invocation::enter(SITE, &[]);
    NUMBER.store(0, Ordering::Release);
    assert_eq!(under_way.remedy(0), 3);
}
