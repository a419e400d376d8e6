//! The two programs that a gate compares.

use std::fmt;
use std::ops::{Index, IndexMut};

/// One of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Base,
    Head,
}

impl Side {
    pub(super) const BOTH: [Side; 2] = [Side::Base, Side::Head];
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Base => "base",
            Side::Head => "head",
        })
    }
}

/// A value for each of the two programs.
#[derive(Default)]
pub(super) struct BaseAndHead<T> {
    pub(super) base: T,
    pub(super) head: T,
}

impl<T> Index<Side> for BaseAndHead<T> {
    type Output = T;

    fn index(&self, side: Side) -> &T {
        match side {
            Side::Base => &self.base,
            Side::Head => &self.head,
        }
    }
}

impl<T> IndexMut<Side> for BaseAndHead<T> {
    fn index_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Base => &mut self.base,
            Side::Head => &mut self.head,
        }
    }
}
