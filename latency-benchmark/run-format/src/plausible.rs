//! Limits of the figures in tables and JSON documents. Each row type and document type has a `plausible!` block below it; a
//! missing field does not compile. Limits are wide: no machine and no disturbance makes a run reach them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::{NonZeroU8, NonZeroU32, NonZeroUsize};
use std::ops::RangeInclusive;

use anyhow::{Result, ensure};

use crate::{
    ActivityCounter, ApplicationOutcome, Backend, Budgets, BuildRecord, ChosenBecause, Churn,
    Cores, CountKind, Crowd, DelayBackend, MAX_PEERS, MissingEvidence, Pass, Payload, PeerHosts,
    ReceiveMasks, ReceiveOn, Role, Rtt, RunOutcome, Scheduler, SchedulingClass, Security, Sharing,
    Site, Sizes, Stage, TcpBuffers, Tool, Transport, Upstream, VariantConfig, Workload,
};

/// Readings are not taken at the same instant, and some have steps of 10 ms.
const SLACK: f64 = 1.1;
const SLACK_MS: f64 = 10.0;

/// Linux is built for at most this number of cores.
const MOST_CORES: f64 = 8192.0;

/// No poll, request, packet or change of thread takes less time.
const SHORTEST_NS: f64 = 10.0;

/// The time and the threads that there were while a row was measured. Most limits follow from these.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredSpan {
    /// The time for which the row was measured.
    pub ms: f64,
    /// The number of pieces in which it was measured.
    pub turns: f64,
    /// The number of threads that run central's runtime.
    pub threads: f64,
    /// The time that the whole launch took.
    pub took_ms: f64,
}

impl MeasuredSpan {
    /// For figures whose span is not known, such as those of a document or of a killed launch. Limits are as wide as they can
    /// be.
    pub const UNKNOWN: MeasuredSpan = MeasuredSpan {
        ms: MeasuredSpan::LONGEST_MS,
        turns: 1.0,
        threads: MOST_CORES,
        took_ms: MeasuredSpan::LONGEST_MS,
    };

    /// No launch takes longer than these five weeks.
    const LONGEST_MS: f64 = 3e9;

    fn most_ms(&self, threads: f64) -> f64 {
        SLACK * (threads * self.ms + self.turns * SLACK_MS)
    }

    /// Time of all central's threads together.
    pub(crate) fn ms(&self) -> RangeInclusive<f64> {
        up_to(self.most_ms(self.threads))
    }

    pub(crate) fn ns(&self) -> RangeInclusive<f64> {
        up_to(1e6 * self.most_ms(self.threads))
    }

    /// Time of one thread.
    pub(crate) fn ns_of_one(&self) -> RangeInclusive<f64> {
        up_to(1e6 * self.most_ms(1.0))
    }

    /// Time of the whole machine, or of several machines.
    pub(crate) fn ms_of_all(&self) -> RangeInclusive<f64> {
        up_to(self.most_ms(MOST_CORES))
    }

    pub(crate) fn ns_of_all(&self) -> RangeInclusive<f64> {
        up_to(1e6 * self.most_ms(MOST_CORES))
    }

    /// Events that central's threads cause one after the other.
    pub(crate) fn events(&self) -> RangeInclusive<f64> {
        up_to(1e6 * self.most_ms(self.threads) / SHORTEST_NS)
    }

    /// Events that other threads, other hosts or the kernel cause.
    pub(crate) fn events_of_all(&self) -> RangeInclusive<f64> {
        up_to(1e6 * self.most_ms(MOST_CORES) / SHORTEST_NS)
    }

    /// Cycles or instructions: at most ten in a nanosecond.
    pub(crate) fn cycles(&self) -> RangeInclusive<f64> {
        up_to(1e7 * self.most_ms(self.threads))
    }

    /// Bytes: at most 100 in a nanosecond.
    pub(crate) fn bytes(&self) -> RangeInclusive<f64> {
        up_to(1e8 * self.most_ms(self.threads))
    }

    /// Values at the end of each turn, added up.
    pub(crate) fn buffered(&self) -> RangeInclusive<f64> {
        const TIB: f64 = (1_u64 << 40) as f64;
        up_to(self.turns * TIB)
    }

    /// A time that may begin before the row was measured, or end later.
    pub(crate) fn launch_ms(&self) -> RangeInclusive<f64> {
        up_to(SLACK * (self.took_ms + SLACK_MS))
    }

    pub(crate) fn launch_s(&self) -> RangeInclusive<f64> {
        up_to(self.launch_ms().end() / 1e3)
    }

    pub(crate) fn launch_ns(&self) -> RangeInclusive<f64> {
        up_to(1e6 * self.launch_ms().end())
    }

    /// Times like those of `launch_ns`, read at the end of each turn and added up.
    pub(crate) fn launch_ns_of_turns(&self) -> RangeInclusive<f64> {
        up_to(self.turns * self.launch_ns().end())
    }

    /// Times like those of `launch_ns` of each of central's threads, added up.
    pub(crate) fn launch_ns_of_threads(&self) -> RangeInclusive<f64> {
        up_to(self.threads * self.launch_ns().end())
    }
}

/// A range that ends at the largest number, if not before.
pub(crate) fn between(least: f64, most: f64) -> RangeInclusive<f64> {
    least..=most.min(LARGEST)
}

fn up_to(most: f64) -> RangeInclusive<f64> {
    between(0.0, most)
}

/// Like `range`, but above zero, because the value is a divisor.
pub(crate) fn length(range: RangeInclusive<f64>) -> RangeInclusive<f64> {
    const SHORTEST: f64 = 1e-3;
    SHORTEST..=*range.end()
}

/// The range, but it begins a little below another column's value.
pub(crate) fn from_about(
    least: &impl PlausibleValue,
    range: RangeInclusive<f64>,
) -> RangeInclusive<f64> {
    least.figure().unwrap_or(0.0) / SLACK..=*range.end()
}

/// A part of another column's value. Without that value there is no part.
pub(crate) fn part_of(whole: &impl PlausibleValue) -> RangeInclusive<f64> {
    0.0..=whole.figure().unwrap_or(0.0)
}

/// The sum of what remains of each time after its first `length` ns, for `count` times that add up to `ns`.
pub(crate) fn beyond(length: u64, count: &u64, ns: &u64) -> RangeInclusive<f64> {
    ns.saturating_sub(count.saturating_mul(length)) as f64..=*ns as f64
}

/// The type of the column says enough: an index or another number of 32 bits, a name, or a document with limits of its own.
pub(crate) const WHAT_THE_TYPE_ALLOWS: RangeInclusive<f64> = 0.0..=u32::MAX as f64;

/// Seeds are any whole number.
pub(crate) const ANY: RangeInclusive<f64> = 0.0..=u64::MAX as f64;

/// The largest number. With a larger one, sums would be wrong.
pub(crate) const LARGEST: f64 = 1e15;
pub(crate) const COUNT: RangeInclusive<f64> = 0.0..=LARGEST;

/// Up to the last second of the year 9999, after which dates have five digits.
pub(crate) const UNIX_S: RangeInclusive<f64> = 0.0..=253_402_300_799.0;

/// Up to three years.
pub(crate) const MS: RangeInclusive<f64> = 0.0..=1e11;

/// The time that a call of the probe or a reading of counters takes.
pub(crate) const CALL_NS: RangeInclusive<f64> = 0.0..=1e6;

pub(crate) const PEERS: RangeInclusive<f64> = 0.0..=MAX_PEERS as f64;

pub(crate) const PERCENT: RangeInclusive<f64> = 0.0..=100.0;

/// A value in a column or field: a number, a name, or a document with limits of its own.
pub(crate) trait PlausibleValue {
    /// The number. A name, a list and an absent value have none.
    fn figure(&self) -> Option<f64> {
        None
    }

    /// Refuses a number out of the range. A list refuses each of its numbers out of the range. A document has its own limits.
    fn check_in(&self, column: &str, range: &RangeInclusive<f64>, _: &MeasuredSpan) -> Result<()> {
        let Some(figure) = self.figure() else {
            return Ok(());
        };
        let [least, most] = [range.start(), range.end()].map(|end| (end * 1e3).round() / 1e3);
        ensure!(
            range.contains(&figure),
            "{column} is {figure} (possible: {least} to {most})"
        );
        Ok(())
    }
}

macro_rules! figures {
    ($($number:ty)*) => {$(
        impl PlausibleValue for $number {
            fn figure(&self) -> Option<f64> {
                Some(*self as f64)
            }
        }
    )*};
}
figures!(u32 u64 usize f64);

/// Types without a number that needs a limit. Some refuse what is out of their range when they are read.
macro_rules! always_plausible {
    ($($name:ty)*) => {
        $(impl PlausibleValue for $name {})*
    };
}
always_plausible!(bool String Cow<'static, str> NonZeroU8 NonZeroU32 NonZeroUsize);
always_plausible!(ActivityCounter Backend BuildRecord Budgets ChosenBecause Churn Cores CountKind Crowd DelayBackend RunOutcome ApplicationOutcome);
always_plausible!(MissingEvidence Pass Payload PeerHosts ReceiveMasks ReceiveOn Role Rtt Scheduler SchedulingClass Security);
always_plausible!(Sharing Site Sizes Stage TcpBuffers Tool Transport Upstream VariantConfig Workload);

impl<T: PlausibleValue> PlausibleValue for Option<T> {
    fn figure(&self) -> Option<f64> {
        self.as_ref()?.figure()
    }

    fn check_in(
        &self,
        column: &str,
        range: &RangeInclusive<f64>,
        span: &MeasuredSpan,
    ) -> Result<()> {
        let mut present = self.iter();
        present.try_for_each(|value| value.check_in(column, range, span))
    }
}

impl<T: PlausibleValue> PlausibleValue for Vec<T> {
    fn check_in(
        &self,
        column: &str,
        range: &RangeInclusive<f64>,
        span: &MeasuredSpan,
    ) -> Result<()> {
        let mut values = self.iter();
        values.try_for_each(|value| value.check_in(column, range, span))
    }
}

impl<T: PlausibleValue> PlausibleValue for BTreeMap<String, T> {
    fn check_in(
        &self,
        column: &str,
        range: &RangeInclusive<f64>,
        span: &MeasuredSpan,
    ) -> Result<()> {
        let mut values = self.values();
        values.try_for_each(|value| value.check_in(column, range, span))
    }
}

/// A row of a table, a document, or a part of one, whose figures have limits.
pub trait Plausible {
    /// Refuses figures that no run can have.
    fn check(&self, span: &MeasuredSpan) -> Result<()>;
}

/// The limit of every column of a row, or of every field of a document. A limit may name other columns.
macro_rules! plausible {
    ($row:ty; $($limits:tt)*) => {
        $crate::plausible::plausible! { $row, |span|; $($limits)* }
    };
    ($row:ty, $([$($bounds:tt)*],)? |$span:ident|; $($($column:ident)+: $limit:expr;)*) => {
        impl $(<$($bounds)*>)? $crate::plausible::Plausible for $row {
            fn check(&self, $span: &$crate::plausible::MeasuredSpan) -> anyhow::Result<()> {
                use $crate::plausible::PlausibleValue;
                let Self { $($($column),+),* } = self;
                $(
                    let range = $limit;
                    $($column.check_in(stringify!($column), &range, $span)?;)+
                )*
                Ok(())
            }
        }

        impl $(<$($bounds)*>)? $crate::plausible::PlausibleValue for $row {
            fn check_in(
                &self,
                _: &str,
                _: &std::ops::RangeInclusive<f64>,
                span: &$crate::plausible::MeasuredSpan,
            ) -> anyhow::Result<()> {
                $crate::plausible::Plausible::check(self, span)
            }
        }
    };
}
pub(crate) use plausible;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;
    use crate::files::{MANIFEST, RR_MANIFEST, read_json};
    use crate::{Axes, Manifest, RunRow, SweepConfig};

    fn fixture(name: &str) -> Value {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests");
        read_json(&tests.join(name)).expect("a document")
    }

    /// The places of a document's numbers, as JSON pointers.
    fn numbers(value: &Value, place: &str, found: &mut Vec<String>) {
        match value {
            Value::Number(_) => found.push(place.to_owned()),
            Value::Array(values) => values
                .iter()
                .enumerate()
                .for_each(|(at, value)| numbers(value, &format!("{place}/{at}"), found)),
            Value::Object(fields) => fields
                .iter()
                .for_each(|(name, value)| numbers(value, &format!("{place}/{name}"), found)),
            _ => {}
        }
    }

    fn is_accepted<T: DeserializeOwned + Plausible>(document: &Value) -> bool {
        let document = serde_json::from_value::<T>(document.clone());
        document.is_ok_and(|document| document.check(&MeasuredSpan::UNKNOWN).is_ok())
    }

    fn accepts_only_seeds_of_any_size<T: DeserializeOwned + Plausible>(whole: &Value) {
        assert!(is_accepted::<T>(whole));
        let mut places = Vec::new();
        numbers(whole, "", &mut places);
        for place in places {
            let mut changed = whole.clone();
            *changed.pointer_mut(&place).expect("a number") = json!(1_000_000_000_000_000_001_u64);
            let is_seed = place.ends_with("/seed");
            assert_eq!(is_accepted::<T>(&changed), is_seed, "{place}");
        }
    }

    #[test]
    fn every_number_of_a_document_has_a_limit() {
        accepts_only_seeds_of_any_size::<Manifest>(&fixture(&format!("fixture/{MANIFEST}")));
        accepts_only_seeds_of_any_size::<Manifest>(&fixture(&format!("fixture-rr/{RR_MANIFEST}")));
        let run = fixture("fixture/cells/pl004096_rtt000_n02/run-1/run.json");
        accepts_only_seeds_of_any_size::<RunRow>(&run);
    }

    #[test]
    fn grids_without_end_are_refused() {
        let config = fixture(&format!("fixture/{MANIFEST}"))["config"].take();
        let config: SweepConfig = serde_json::from_value(config).expect("a configuration");
        let peers = |count| Axes {
            peers: vec![1; count],
            ..config.axes.clone()
        };
        let refused = |axes, repeat| {
            let config = SweepConfig {
                axes,
                repeat,
                ..config.clone()
            };
            let checked = config.check(&MeasuredSpan::UNKNOWN);
            checked.err().map(|error| error.to_string())
        };
        assert_eq!(refused(peers(12), 1000), None);
        let cells = "axes have 160000 cells (possible: 0 to 100000)";
        assert_eq!(refused(peers(80_000), 1).as_deref(), Some(cells));
        // There are two payloads.
        let launches = "repeat is 90000 (possible: 0 to 41666)";
        assert_eq!(refused(peers(12), 90_000).as_deref(), Some(launches));
    }
}
