use std::marker::PhantomData;

use super::{
    events::{HARDWARE, MIGRATIONS, SOFTWARE},
    fill,
    group::{self, Group},
    usage::{self, Who},
};
use crate::Unavailable;

/// Counts of the thread that opened them, on which alone they are read. They count from the opening
/// on, or from the thread's beginning: their differences mean something.
///
/// `cycles`, `instructions`, `cache_misses`, `branches`, `branch_misses`, `task_clock_ns` (CPU time),
/// `context_switches`, `page_faults_minor`, `page_faults_major`, `migrations` (from one core to
/// another), in this order, as far as there are. `:u` behind a name says that what happens in the
/// kernel is not counted, which is not permitted then.
pub struct Counters {
    hardware: Option<Group>,
    /// Else the kernel's counts are those of `usage`.
    software: Option<Group>,
    names: Vec<String>,
    missing: Vec<Unavailable>,
    /// Keeps them on their thread.
    not_send: PhantomData<*const ()>,
}

impl Counters {
    /// Opens whatever can be counted on this thread.
    pub fn open_for_this_thread() -> Counters {
        let mut missing = Vec::new();
        let hardware = Group::open(HARDWARE, &mut missing);
        let mut missing_software = Vec::new();
        // Switches and migrations happen in the kernel; without it they would count as none.
        let software = Group::open(SOFTWARE, &mut missing_software)
            .filter(|group| group::counts_kernel(group) && missing_software.is_empty());
        if software.is_none() {
            let (name, _) = MIGRATIONS;
            let refused = missing_software
                .into_iter()
                .find(|missing| missing.what == name);
            missing.push(refused.unwrap_or_else(|| {
                Unavailable::new(name, "what happens in the kernel may not be counted")
            }));
        }
        Counters::new(hardware, software, missing)
    }

    /// As where `perf_event_open` is not permitted at all.
    pub fn open_for_this_thread_without_perf() -> Counters {
        let names = HARDWARE.iter().map(|(name, _)| *name);
        let missing = names
            .chain([MIGRATIONS.0])
            .map(|name| Unavailable::new(name, "perf_event_open was not asked"))
            .collect();
        Counters::new(None, None, missing)
    }

    fn new(hardware: Option<Group>, software: Option<Group>, missing: Vec<Unavailable>) -> Self {
        let mut names = hardware
            .as_ref()
            .map_or(Vec::new(), |group| group.names().to_vec());
        match &software {
            Some(group) => names.extend_from_slice(group.names()),
            None => names.extend(usage::NAMES.map(str::to_owned)),
        }
        Counters {
            hardware,
            software,
            names,
            missing,
            not_send: PhantomData,
        }
    }

    /// The names of the counts, in the order in which they are read.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What is not counted here, and why.
    pub fn unavailable(&self) -> &[Unavailable] {
        &self.missing
    }

    /// Reads all counts into the first so many places, or as many as there are places: at most two
    /// system calls, no allocation. False, with nothing or not all of it read, if the kernel fails to
    /// answer, which it has no cause to.
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

    /// The part of the time in which the processor's counters did count, which is all of it unless they
    /// are shared with others: then their counts are too small by this factor. None without any.
    pub fn counted_share(&self) -> Option<f64> {
        self.hardware.as_ref()?.counted_share()
    }
}
