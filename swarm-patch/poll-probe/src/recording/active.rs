//! The variant in force. Switching is one atomic store, and reading is one load.
#![allow(
    unsafe_code,
    reason = "a pointer to a leaked, immutable value, and one instruction; a lock or a call would cost the hot path"
)]

use std::iter;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use quanta::Clock;

use super::lock::lock;
use super::record::Iterations;
use crate::{Budget, Limit, ProcessBudgets, SiteId, Wake};

/// The thread's own clock is read at the end of an invocation that took this long. The time off the CPU of a shorter
/// invocation is less than this, and is ignored. If a reading takes 1 µs, a thread whose invocations all take this long
/// spends 1 % of its time on readings.
pub(crate) const LONG: Duration = Duration::from_micros(100);

/// How much is recorded of an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Nothing is recorded. Budgets still apply.
    #[default]
    Off,
    /// The start, the duration, the number of iterations, the longest iteration and the outcome.
    Minimal,
    /// The same as in `Minimal`, every poll of every child, and the end of every iteration. A poll of a child costs two
    /// readings of the clock.
    Children,
    /// The same as in `Minimal`, every poll of every child, and the counts of the recorder's [`Meter`](crate::Meter), if it
    /// has one.
    Metered,
}

impl Mode {
    /// Whether the polls of children are marked. A comparison of numbers keeps a poll that is not recorded at 0.8 ns. A match
    /// made it 1.6 ns (example `overhead`, 2026-11-29).
    #[inline(always)]
    pub(crate) fn marks_children(self) -> bool {
        self as u8 >= Mode::Children as u8
    }
}

/// A setting of the whole process: how much work its sites may do, and what is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Variant {
    /// How much work each site may do in one invocation.
    pub budgets: ProcessBudgets,
    /// How much is recorded.
    pub mode: Mode,
}

/// Identifies an installed variant in the records. Equal variants have the same id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariantId(pub(crate) u16);

impl Variant {
    /// Applies this variant to every invocation that begins from now on, on any thread.
    ///
    /// Each distinct variant takes a few hundred bytes until the process ends.
    pub fn install(self) -> VariantId {
        let active = self.known();
        ACTIVE.store(std::ptr::from_ref(active).cast_mut(), Ordering::Release);
        active.id
    }

    fn known(self) -> &'static Active {
        let mut installed = lock(&INSTALLED);
        let mut known = iter::once(&INITIAL).chain(installed.iter().copied());
        let same = known.find(|active| active.variant == self);
        same.unwrap_or_else(|| {
            let id = u16::try_from(installed.len() + 1);
            let id = VariantId(id.expect("no process compares 65,535 variants"));
            let active: &'static Active = Box::leak(Box::new(Active::new(id, self)));
            installed.push(active);
            active
        })
    }
}

/// Lets `number`, which another process may write, choose the variant in force: it is an index into `variants`. Every
/// invocation that begins after a write finds the new variant.
///
/// # Panics
///
/// If there is no variant.
pub fn follow(number: &'static AtomicU32, variants: impl IntoIterator<Item = Variant>) {
    let variants: Vec<&'static Active> = variants.into_iter().map(Variant::known).collect();
    assert!(!variants.is_empty(), "there is no variant to follow");
    let followed = Box::leak(Box::new(Followed { number, variants }));
    let active = Active {
        followed: Some(followed),
        ..Active::new(VariantId(0), Variant::default())
    };
    let active: &'static Active = Box::leak(Box::new(active));
    ACTIVE.store(std::ptr::from_ref(active).cast_mut(), Ordering::Release);
}

/// The variants of a process that follows another one.
struct Followed {
    /// The index, in `variants`, of the variant in force.
    number: &'static AtomicU32,
    variants: Vec<&'static Active>,
}

impl Followed {
    #[inline(never)]
    fn active(&self) -> &'static Active {
        let number = self.number.load(Ordering::Acquire) as usize;
        self.variants.get(number).unwrap_or(&self.variants[0])
    }
}

/// A variant as the hot path reads it.
pub(crate) struct Active {
    pub(crate) id: VariantId,
    pub(crate) mode: Mode,
    /// Only the initial variant has none. It never needs the time.
    clock: Option<Clock>,
    /// Whether the clock is the time-stamp counter. If so, the hot path reads the counter itself and does not call the clock.
    clock_is_tsc: bool,
    /// [`LONG`] in ticks.
    pub(crate) long: u64,
    bounds: [Bound; SiteId::MOST],
    pub(crate) variant: Variant,
    /// If another process chooses the variant, the variants that it chooses from.
    followed: Option<&'static Followed>,
}

/// A budget in ticks, as the hot path compares it. Limits that the budget does not have get the largest values.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) iterations: Iterations,
    pub(crate) ticks: u64,
    pub(crate) coop: bool,
    pub(crate) wake: Wake,
    /// Whether an invocation of this site has to read the clock.
    pub(crate) timed: bool,
}

impl Bound {
    const NONE: Bound = Bound {
        iterations: Iterations::NO_BOUND,
        ticks: u64::MAX,
        coop: false,
        wake: Wake::Immediate,
        timed: false,
    };

    fn new(budget: Option<Budget>, mode: Mode) -> Bound {
        let mut bound = Bound {
            timed: mode != Mode::Off,
            ..Bound::NONE
        };
        if let Some(Budget { limit, wake, .. }) = budget {
            bound.wake = wake;
            match limit {
                Limit::Count(count) => bound.iterations = Iterations::at_most(count),
                Limit::Coop => {
                    bound.coop = true;
                    bound.wake = Wake::Deferred;
                }
                Limit::Time(time) => {
                    bound.ticks = ticks_in(time);
                    bound.timed = true;
                }
            }
        }
        bound
    }
}

impl Active {
    fn new(id: VariantId, variant: Variant) -> Active {
        Active {
            id,
            mode: variant.mode,
            clock: Some(clock().clone()),
            clock_is_tsc: is_tsc(clock()),
            long: ticks_in(LONG),
            bounds: (variant.budgets.by_site).map(|budget| Bound::new(budget, variant.mode)),
            variant,
            followed: None,
        }
    }

    #[inline]
    pub(crate) fn bound(&self, site: SiteId) -> &Bound {
        &self.bounds[site.number()]
    }

    #[inline]
    pub(crate) fn ticks(&self) -> u64 {
        if self.clock_is_tsc {
            return tsc();
        }
        self.clock.as_ref().map_or(0, Clock::raw)
    }
}

static INITIAL: Active = Active {
    id: VariantId(0),
    mode: Mode::Off,
    clock: None,
    clock_is_tsc: false,
    long: u64::MAX,
    bounds: [Bound::NONE; SiteId::MOST],
    variant: Variant {
        budgets: ProcessBudgets::NONE,
        mode: Mode::Off,
    },
    followed: None,
};

static ACTIVE: AtomicPtr<Active> = AtomicPtr::new(std::ptr::from_ref(&INITIAL).cast_mut());

/// Every variant that was ever installed, in the order of their ids, without the initial one.
static INSTALLED: Mutex<Vec<&'static Active>> = Mutex::new(Vec::new());

/// The variant in force. An invocation reads it once, at its start.
#[inline]
pub(crate) fn active() -> &'static Active {
    // SAFETY: the pointer is only ever set to `INITIAL` or to a leaked box, neither of which is
    // written to or freed. Release and acquire make the box's content visible with the pointer.
    let active = unsafe { &*ACTIVE.load(Ordering::Acquire) };
    active.followed.map_or(active, Followed::active)
}

/// The mode of a variant that was installed before.
pub(crate) fn mode_of(id: VariantId) -> Mode {
    let number = usize::from(id.0).checked_sub(1); // The initial variant is not among them.
    number.map_or(Mode::Off, |number| lock(&INSTALLED)[number].mode)
}

/// The clock of the whole process. It is calibrated once, so that all records share one scale.
pub(crate) fn clock() -> &'static Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    CLOCK.get_or_init(Clock::new)
}

/// Whether the clock reads the time-stamp counter. The number that another clock reads does not lie between two readings of
/// the counter.
fn is_tsc(clock: &Clock) -> bool {
    let (before, read, after) = (tsc(), clock.raw(), tsc());
    before > 0 && (before..=after).contains(&read)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn tsc() -> u64 {
    // SAFETY: every x86-64 has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Other processors have no time-stamp counter.
#[cfg(not(target_arch = "x86_64"))]
fn tsc() -> u64 {
    0
}

pub(crate) fn ticks_in(time: Duration) -> u64 {
    const SPAN: u64 = 1 << 40;
    let ns_per_tick = clock().delta_as_nanos(0, SPAN) as f64 / SPAN as f64;
    (time.as_nanos() as f64 / ns_per_tick).max(1.0) as u64
}
