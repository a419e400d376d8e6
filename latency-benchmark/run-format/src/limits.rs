//! What the figures of a table can be. The limits of a row's columns stand below its type, and the compiler asks for one
//! of every column. They are wide: no machine and no disturbance makes a run reach them.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use anyhow::{Result, ensure};

use crate::{ActivityCounter, Budgets, Cores, CountKind, Pass, Site};

/// Readings are not taken at the same instant, and some have steps of 10 ms.
const SLACK: f64 = 1.1;
const SLACK_MS: f64 = 10.0;

/// The most that Linux is built for.
const MOST_CORES: f64 = 8192.0;

/// Of a poll, a request, a packet or a change of thread. None takes less.
const SHORTEST_NS: f64 = 10.0;

/// What there was of time and threads while a row was measured.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// How long it was measured.
    pub ms: f64,
    /// In how many pieces.
    pub turns: f64,
    /// Those that run central's runtime.
    pub threads: f64,
    /// How long the whole launch took.
    pub took_ms: f64,
}

impl Extent {
    /// Of a launch that was killed, nobody knows how long it took or on how many threads.
    pub const UNKNOWN: Extent = Extent {
        ms: Extent::LONGEST_MS,
        turns: 1.0,
        threads: MOST_CORES,
        took_ms: Extent::LONGEST_MS,
    };

    /// Some weeks.
    const LONGEST_MS: f64 = 3e9;

    fn most_ms(&self, threads: f64) -> f64 {
        SLACK * (threads * self.ms + self.turns * SLACK_MS)
    }

    /// Time of central's threads.
    pub(crate) fn ms(&self) -> RangeInclusive<f64> {
        0.0..=self.most_ms(self.threads)
    }

    pub(crate) fn ns(&self) -> RangeInclusive<f64> {
        0.0..=1e6 * self.most_ms(self.threads)
    }

    /// Time of one thread.
    pub(crate) fn ns_of_one(&self) -> RangeInclusive<f64> {
        0.0..=1e6 * self.most_ms(1.0)
    }

    /// Time of the whole machine, or of several machines.
    pub(crate) fn ms_of_all(&self) -> RangeInclusive<f64> {
        0.0..=self.most_ms(MOST_CORES)
    }

    pub(crate) fn ns_of_all(&self) -> RangeInclusive<f64> {
        0.0..=1e6 * self.most_ms(MOST_CORES)
    }

    /// What central's threads do one after the other.
    pub(crate) fn events(&self) -> RangeInclusive<f64> {
        0.0..=1e6 * self.most_ms(self.threads) / SHORTEST_NS
    }

    /// What other threads, other hosts or the kernel do.
    pub(crate) fn events_of_all(&self) -> RangeInclusive<f64> {
        0.0..=1e6 * self.most_ms(MOST_CORES) / SHORTEST_NS
    }

    /// At most ten in a nanosecond.
    pub(crate) fn cycles(&self) -> RangeInclusive<f64> {
        0.0..=1e7 * self.most_ms(self.threads)
    }

    /// At most 100 in a nanosecond.
    pub(crate) fn bytes(&self) -> RangeInclusive<f64> {
        0.0..=1e8 * self.most_ms(self.threads)
    }

    /// Values at the end of each turn, added up.
    pub(crate) fn buffered(&self) -> RangeInclusive<f64> {
        const TIB: f64 = (1_u64 << 40) as f64;
        0.0..=self.turns * TIB
    }

    /// A time of which the beginning or the end is outside of what was measured.
    pub(crate) fn launch_ms(&self) -> RangeInclusive<f64> {
        0.0..=SLACK * (self.took_ms + SLACK_MS)
    }

    pub(crate) fn launch_s(&self) -> RangeInclusive<f64> {
        0.0..=self.launch_ms().end() / 1e3
    }

    pub(crate) fn launch_ns(&self) -> RangeInclusive<f64> {
        0.0..=1e6 * self.launch_ms().end()
    }

    /// Such times at the end of each turn, added up.
    pub(crate) fn launch_ns_of_turns(&self) -> RangeInclusive<f64> {
        0.0..=self.turns * self.launch_ns().end()
    }

    /// The same for each of central's threads.
    pub(crate) fn launch_ns_of_threads(&self) -> RangeInclusive<f64> {
        0.0..=self.threads * self.launch_ns().end()
    }
}

/// A length that something is divided by.
pub(crate) fn length(range: RangeInclusive<f64>) -> RangeInclusive<f64> {
    const SHORTEST: f64 = 1e-3;
    SHORTEST..=*range.end()
}

/// From a little below a value.
pub(crate) fn about(least: &impl Figure, range: RangeInclusive<f64>) -> RangeInclusive<f64> {
    least.figure().unwrap_or(0.0) / SLACK..=*range.end()
}

/// A part of something. Where that is not known, no part is.
pub(crate) fn part_of(whole: &impl Figure) -> RangeInclusive<f64> {
    0.0..=whole.figure().unwrap_or(0.0)
}

/// By how much some of so many things together are longer than a length, if they take so long.
pub(crate) fn beyond(length: u64, count: &u64, ns: &u64) -> RangeInclusive<f64> {
    ns.saturating_sub(count.saturating_mul(length)) as f64..=*ns as f64
}

/// A number, an index or a place in a list.
pub(crate) const NAME: RangeInclusive<f64> = 0.0..=u32::MAX as f64;

/// What a column has. Names are no figures.
pub(crate) trait Figure {
    fn figure(&self) -> Option<f64>;
}

macro_rules! figures {
    ($($number:ty)*; $($name:ty)*) => {
        $(impl Figure for $number {
            fn figure(&self) -> Option<f64> {
                Some(*self as f64)
            }
        })*
        $(impl Figure for $name {
            fn figure(&self) -> Option<f64> {
                None
            }
        })*
    };
}
figures!(u32 u64 usize f64; Pass Site Budgets Cores CountKind ActivityCounter String Cow<'static, str>);

impl<T: Figure> Figure for Option<T> {
    fn figure(&self) -> Option<f64> {
        self.as_ref()?.figure()
    }
}

/// A row whose figures have limits.
pub trait Limited {
    /// The columns with figures, each with what it can be.
    fn figures(&self, of: &Extent) -> Vec<(&'static str, f64, RangeInclusive<f64>)>;

    /// Refuses figures that cannot be.
    fn check(&self, of: &Extent) -> Result<()> {
        for (column, figure, range) in self.figures(of) {
            let [least, most] = [range.start(), range.end()].map(|end| (end * 1e3).round() / 1e3);
            ensure!(
                range.contains(&figure),
                "{column} is {figure} (possible: {least} to {most})"
            );
        }
        Ok(())
    }
}

/// The limits of every column of a row. A limit may name other columns.
macro_rules! limits {
    ($row:ty, $([$($bounds:tt)*],)? |$of:ident|; $($column:ident: $limit:expr;)*) => {
        impl $(<$($bounds)*>)? $crate::limits::Limited for $row {
            fn figures(
                &self,
                $of: &$crate::limits::Extent,
            ) -> Vec<(&'static str, f64, std::ops::RangeInclusive<f64>)> {
                use $crate::limits::Figure;
                let Self { $($column),* } = self;
                let figures = [$(
                    (stringify!($column), $column.figure(), $limit),
                )*];
                let known = figures.into_iter();
                known.filter_map(|(name, figure, limit)| Some((name, figure?, limit))).collect()
            }
        }
    };
}
pub(crate) use limits;
