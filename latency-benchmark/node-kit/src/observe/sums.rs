//! Sums: of polls, and those that the kernel and the runtime keep since the start.

use std::ops::{Add, Sub};

use run_format::config::SLOW_NS;

/// Polls, and those of them that were slow for tokio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PollSums {
    pub(crate) polls: u64,
    pub(crate) slow: u64,
    pub(crate) ns: u64,
    /// By how much they are longer than a poll that is not slow yet.
    pub(crate) beyond_ns: u64,
    pub(crate) longest_ns: u64,
}

impl PollSums {
    pub(super) fn add(&mut self, ns: u64) {
        self.polls += 1;
        self.slow += u64::from(ns > SLOW_NS);
        self.ns += ns;
        self.beyond_ns += ns.saturating_sub(SLOW_NS);
        self.longest_ns = self.longest_ns.max(ns);
    }
}

/// How two whole numbers become one, and two others.
pub(crate) type By = (fn(u64, u64) -> u64, fn(f64, f64) -> f64);

/// Numbers that only grow, each by itself. What is absent on either side is absent.
pub(crate) trait Sums: Sized {
    fn with(self, other: Self, by: By) -> Self;

    fn since(self, before: Self) -> Self {
        self.with(before, (u64::saturating_sub, f64::sub))
    }

    fn plus(self, other: Self) -> Self {
        self.with(other, (u64::saturating_add, f64::add))
    }
}

impl Sums for u64 {
    fn with(self, other: u64, by: By) -> u64 {
        by.0(self, other)
    }
}

impl Sums for f64 {
    fn with(self, other: f64, by: By) -> f64 {
        by.1(self, other)
    }
}

impl<T: Sums> Sums for Option<T> {
    fn with(self, other: Option<T>, by: By) -> Option<T> {
        Some(self?.with(other?, by))
    }
}

impl<T: Sums> Sums for Vec<T> {
    fn with(self, other: Self, by: By) -> Self {
        let pairs = self.into_iter().zip(other);
        pairs.map(|(one, other)| one.with(other, by)).collect()
    }
}

/// Implements [`Sums`] for a struct in which these fields are such numbers. The others stay as they are.
macro_rules! sums {
    ($type:ident: $($field:ident),*) => {
        impl $crate::observe::sums::Sums for $type {
            fn with(mut self, other: Self, by: $crate::observe::sums::By) -> Self {
                $(self.$field = self.$field.with(other.$field, by);)*
                self
            }
        }
    };
}
pub(crate) use sums;
