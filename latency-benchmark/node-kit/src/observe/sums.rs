//! Sums: of polls, and those that the kernel and the runtime keep since the start.

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

/// Numbers that only grow, each by itself. What is absent on either side is absent.
pub(crate) trait Sums: Sized {
    fn since(self, before: Self) -> Self;

    fn plus(self, other: Self) -> Self;
}

impl Sums for u64 {
    fn since(self, before: u64) -> u64 {
        self.saturating_sub(before)
    }

    fn plus(self, other: u64) -> u64 {
        self.saturating_add(other)
    }
}

impl Sums for f64 {
    fn since(self, before: f64) -> f64 {
        self - before
    }

    fn plus(self, other: f64) -> f64 {
        self + other
    }
}

impl<T: Sums> Sums for Option<T> {
    fn since(self, before: Option<T>) -> Option<T> {
        Some(self?.since(before?))
    }

    fn plus(self, other: Option<T>) -> Option<T> {
        Some(self?.plus(other?))
    }
}

impl<T: Sums> Sums for Vec<T> {
    fn since(self, before: Self) -> Self {
        let pairs = self.into_iter().zip(before);
        pairs.map(|(now, before)| now.since(before)).collect()
    }

    fn plus(self, other: Self) -> Self {
        let pairs = self.into_iter().zip(other);
        pairs.map(|(one, other)| one.plus(other)).collect()
    }
}

/// Implements [`Sums`] for a struct in which these fields are such numbers. The others stay as they are.
macro_rules! sums {
    ($type:ident: $($field:ident),*) => {
        impl $crate::observe::sums::Sums for $type {
            fn since(mut self, before: Self) -> Self {
                $(self.$field = self.$field.since(before.$field);)*
                self
            }

            fn plus(mut self, other: Self) -> Self {
                $(self.$field = self.$field.plus(other.$field);)*
                self
            }
        }
    };
}
pub(crate) use sums;
