use std::marker::PhantomData;

use super::{
    events::{HARDWARE, MIGRATIONS, SOFTWARE, fill},
    group::CounterGroup,
    usage::{self, Who},
};
use crate::Unobservable;

/// Counters of the thread that opened them. Only this thread can read them. Some count from the opening on,
/// some from the start of the thread, so only differences are meaningful.
///
/// `cycles`, `instructions`, `cache_misses`, `branches`, `branch_misses`, `task_clock_ns` (CPU time),
/// `context_switches`, `page_faults_minor`, `page_faults_major`, `migrations` (from one core to another), in
/// this order, as far as they are available. A name that ends in `:u` belongs to a counter without events in
/// the kernel, because counting those is not permitted.
pub struct ThreadCounters {
    hardware: Option<CounterGroup>,
    /// If there is none, the kernel's counters come from `usage`.
    software: Option<CounterGroup>,
    names: Vec<String>,
    missing: Vec<Unobservable>,
    /// Keeps them on their thread.
    not_send: PhantomData<*const ()>,
}

impl ThreadCounters {
    /// Opens all counters that are available on this thread.
    pub fn open_for_this_thread() -> ThreadCounters {
        let mut missing = Vec::new();
        let hardware = CounterGroup::open(HARDWARE, &mut missing);
        let mut missing_software = Vec::new();
        // Switches and migrations happen in the kernel; without it they would count as zero.
        let software = CounterGroup::open(SOFTWARE, &mut missing_software)
            .filter(|group| group.counts_kernel() && missing_software.is_empty());
        if software.is_none() {
            let (name, _) = MIGRATIONS;
            let refused = missing_software
                .into_iter()
                .find(|missing| missing.what == name);
            missing.push(refused.unwrap_or_else(|| {
                Unobservable::new(name, "counting events in the kernel is not permitted")
            }));
        }
        ThreadCounters::new(hardware, software, missing)
    }

    /// Opens only the counters that work where `perf_event_open` is not permitted.
    pub fn open_for_this_thread_without_perf() -> ThreadCounters {
        let names = HARDWARE.iter().map(|(name, _)| *name);
        let missing = names
            .chain([MIGRATIONS.0])
            .map(|name| Unobservable::new(name, "perf_event_open was not called"))
            .collect();
        ThreadCounters::new(None, None, missing)
    }

    fn new(
        hardware: Option<CounterGroup>,
        software: Option<CounterGroup>,
        missing: Vec<Unobservable>,
    ) -> Self {
        let names = |group: &CounterGroup| group.names().to_vec();
        let of_usage = || usage::NAMES.map(str::to_owned).to_vec();
        let mut all = hardware.as_ref().map_or_else(Vec::new, names);
        all.extend(software.as_ref().map_or_else(of_usage, names));
        ThreadCounters {
            hardware,
            software,
            names: all,
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

    /// Reads all counters, or as many as `into` has room for. Makes at most two system calls and allocates
    /// nothing. If the kernel does not answer, which it should always do, returns false and reads nothing or
    /// only a part.
    pub fn read(&self, into: &mut [u64]) -> bool {
        let of_hardware = self
            .hardware
            .as_ref()
            .map_or(0, |group| group.names().len());
        let (first, rest) = into.split_at_mut(of_hardware.min(into.len()));
        let has_first = self.hardware.as_ref().is_none_or(|group| group.read(first));
        let has_rest = match &self.software {
            Some(group) => group.read(rest),
            None => usage::read(Who::ThisThread)
                .map(|counts| fill(rest, counts))
                .is_some(),
        };
        has_first && has_rest
    }
}
