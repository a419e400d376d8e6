//! A process whose variant another one chooses. This is a program of its own, since following has no end.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Waker};

use poll_probe::{Invocation, Mode, ProcessBudgets, SiteId, Variant, count_yields, follow};

static NUMBER: AtomicU32 = AtomicU32::new(0);
static YIELDS: AtomicU64 = AtomicU64::new(0);

const SITE: SiteId = SiteId::new(2);

fn iterations() -> usize {
    let cx = &mut Context::from_waker(Waker::noop());
    let mut invocation = Invocation::enter(SITE, &[]);
    let most = 0..10;
    most.take_while(|_| invocation.iterate(cx).is_ready())
        .count()
}

#[test]
fn every_poll_has_the_variant_whose_number_was_written_last() {
    let variant = |budgets: ProcessBudgets| Variant {
        budgets,
        mode: Mode::Off,
    };
    let bounded = ProcessBudgets::NONE.with(SITE, "2".parse().unwrap());
    count_yields(&YIELDS);
    follow(
        &NUMBER,
        [
            ProcessBudgets::NONE,
            bounded,
            ProcessBudgets::NONE.with_remedy(3),
        ]
        .map(variant),
    );
    for (number, allowed, yields, has_remedy) in [
        (0, 10, 0, false),
        (1, 2, 1, false),
        (2, 10, 1, true),
        (1, 2, 2, false),
        (9, 10, 2, false),
    ] {
        NUMBER.store(number, Ordering::Release);
        assert_eq!(iterations(), allowed, "{number}");
        assert_eq!(YIELDS.load(Ordering::Relaxed), yields, "{number}");
        let invocation = Invocation::enter(SITE, &[]);
        assert_eq!(invocation.remedy(3), has_remedy, "{number}");
        assert!(!invocation.remedy(0), "{number}");
    }
    // One that is under way keeps its variant.
    NUMBER.store(2, Ordering::Release);
    let under_way = Invocation::enter(SITE, &[]);
    NUMBER.store(0, Ordering::Release);
    assert!(under_way.remedy(3));
}
