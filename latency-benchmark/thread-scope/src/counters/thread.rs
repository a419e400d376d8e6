use std::marker::PhantomData;

use super::{events::fill, group::CounterGroup, usage};
use crate::Unobservable;

/// Counters of the thread that opened them. Only this thread can read them. Some count from the opening on,
/// some from the start of the thread, so only differences are meaningful.
///
/// `cycles`, `instructions`, `cache_misses`, `branches`, `branch_misses`, as far as they are available, and
/// `task_clock_ns` (CPU time), `context_switches`, `page_faults_minor`, `page_faults_major`, in this order. A name that
/// ends in `:u` belongs to a counter without events in the kernel, because counting those is not permitted.
pub struct ThreadCounters {
    hardware: Option<CounterGroup>,
    names: Vec<String>,
    missing: Vec<Unobservable>,
    /// Keeps them on their thread.
    not_send: PhantomData<*const ()>,
}

impl ThreadCounters {
    /// Opens all counters that are available on this thread.
    pub fn open_for_this_thread() -> ThreadCounters {
        let mut missing = Vec::new();
        let hardware = CounterGroup::open(&mut missing);
        let of_hardware = hardware.iter().flat_map(CounterGroup::names).cloned();
        ThreadCounters {
            names: of_hardware.chain(usage::NAMES.map(str::to_owned)).collect(),
            hardware,
            missing,
            not_send: PhantomData,
        }
    }

    /// The names of the counters, in the order in which they are read.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The unavailable counters, with the reasons.
    pub fn unavailable(&self) -> &[Unobservable] {
        &self.missing
    }

    /// Reads all counters, or as many as `into` has room for. Makes three system calls and allocates nothing. If the
    /// kernel does not answer, which it should always do, returns false and reads nothing or only a part.
    pub fn read(&self, into: &mut [u64]) -> bool {
        let of_hardware = self.names.len() - usage::NAMES.len();
        let (first, rest) = into.split_at_mut(of_hardware.min(into.len()));
        let has_first = self.hardware.as_ref().is_none_or(|group| group.read(first));
        let usage = usage::read(usage::THIS_THREAD).map(|counts| fill(rest, counts));
        has_first && usage.is_some()
    }
}
