//! Sums that the kernel and the runtime keep since the start.

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

/// Implements [`Sums`] for a struct of these fields.
macro_rules! sums {
    ($type:ident: $($field:ident),*) => {
        impl $crate::observe::sums::Sums for $type {
            fn since(self, before: Self) -> Self {
                $type { $($field: self.$field.since(before.$field)),* }
            }

            fn plus(self, other: Self) -> Self {
                $type { $($field: self.$field.plus(other.$field)),* }
            }
        }
    };
}
pub(crate) use sums;
