//! What looks at central's worker.

use std::sync::Arc;
use std::time::Duration;

use nix::unistd::gettid;
use poll_probe::{Capacity, Recorder};
use run_format::{EvidenceFile, MissingEvidence, Pass};
use thread_scope::allocations::{self, AllocationSampler};
use thread_scope::{Counters, Spinner, StackSampler, SystemCallRecorder, Unobservable};

use super::meter;

/// Does not beat with timers, which are due at whole milliseconds.
const STACK_INTERVAL: Duration = Duration::from_micros(487);
const OBJECTS_PER_STACK: u64 = 199;
/// Room for the system calls between two looks into the buffers, in 10 MiB.
const SYSTEM_CALLS: usize = 1 << 18;

/// A recorder that reads what [`Watch`] counts.
pub(crate) fn recorder() -> Recorder {
    /// More than there are between two looks into the buffers.
    const READINGS: usize = 1 << 17;
    Recorder::with_meter(Capacity::default(), READINGS, meter::read)
}

/// Everything that is there to look at the worker, all of it switched off at first.
pub(crate) struct Watch {
    pub(super) stacks: Result<StackSampler, Unobservable>,
    pub(super) allocations: Result<AllocationSampler, Unobservable>,
    pub(super) system_calls: Result<SystemCallRecorder, Unobservable>,
    spinner: Result<Spinner, Unobservable>,
    pub(super) counter_names: Vec<String>,
    counters_missing: Vec<Unobservable>,
    counter_reading_ns: Option<u64>,
    pub(super) process_counters: Counters,
}

impl Watch {
    /// To be called on the worker, before it polls anything.
    pub(crate) fn arm(recorder: &Arc<Recorder>, core: usize) -> Watch {
        let clock = || {
            let recorder = Arc::clone(recorder);
            move || recorder.now_ns()
        };
        let counters = Counters::of_this_thread();
        let counter_names = counters.names().to_vec();
        let counters_missing = counters.unavailable().to_vec();
        let counter_reading_ns = meter::reading_ns(&counters);
        meter::read_by_this_thread(counters);
        let mut stacks = StackSampler::start(gettid().as_raw(), STACK_INTERVAL, clock());
        if let Ok(stacks) = &mut stacks {
            stacks.time_signals();
        }
        Watch {
            stacks,
            allocations: if allocations::is_installed() {
                allocations::watch_this_thread(OBJECTS_PER_STACK, clock())
            } else {
                Err(Unobservable::new(
                    "allocations",
                    "this node program was built without the allocator that counts them \
                     (to build the one with it: cargo build --profile explain -p libp2p-node --bin libp2p-node-counting)",
                ))
            },
            system_calls: SystemCallRecorder::arm_this_thread(SYSTEM_CALLS, clock()),
            spinner: Spinner::start(core),
            counter_names,
            counters_missing,
            counter_reading_ns,
            // Counts threads that are started from here on, which is all that are to come.
            process_counters: Counters::of_process(),
        }
    }

    pub(super) fn is_available(&self, pass: Pass) -> bool {
        match pass {
            Pass::Stacks => self.stacks.is_ok(),
            Pass::Allocations => self.allocations.is_ok(),
            Pass::Counters => !self.counter_names.is_empty(),
            Pass::SystemCalls => self.system_calls.is_ok(),
            Pass::Normal | Pass::Warm => self.spinner.is_ok(),
            Pass::Compare | Pass::Children | Pass::Timeline | Pass::Activity => true,
        }
    }

    fn missing(&self) -> Vec<MissingEvidence> {
        let missing = [
            (Pass::Stacks, self.stacks.as_ref().err()),
            (Pass::Allocations, self.allocations.as_ref().err()),
            (Pass::SystemCalls, self.system_calls.as_ref().err()),
            (Pass::Warm, self.spinner.as_ref().err()),
        ];
        let counters = self.counters_missing.iter();
        let counters = counters.map(|missing| (Pass::Counters, Some(missing)));
        let evidence = missing
            .into_iter()
            .chain(counters)
            .filter_map(|(pass, missing)| {
                let Unobservable { what, why } = missing?.clone();
                Some(MissingEvidence { pass, what, why })
            });
        evidence.collect()
    }

    /// Keeps the core warm or not, and counts what is to be counted: a count that began amid a poll would
    /// tell nothing of that poll.
    pub(super) fn prepare(&self, pass: Pass) {
        if let Ok(spinner) = &self.spinner {
            spinner.set_spinning(pass == Pass::Warm);
        }
        allocations::set_counting(pass == Pass::Allocations);
        meter::read_counters(pass == Pass::Counters);
    }

    /// What sees moments is on from the first one of the slice to its last.
    pub(super) fn switch(&self, pass: Pass, is_on: bool) {
        match pass {
            Pass::Stacks => (self.stacks.iter()).for_each(|it| it.set_recording(is_on)),
            Pass::SystemCalls => (self.system_calls.iter()).for_each(|it| it.set_recording(is_on)),
            _ => {}
        }
    }

    /// By the counters of the process. None where the kernel fails to tell.
    pub(super) fn counted(&self) -> Option<Vec<u64>> {
        let mut counts = vec![0; self.process_counters.names().len()];
        self.process_counters.read(&mut counts).then_some(counts)
    }

    pub(super) fn describe(&self) -> EvidenceFile {
        let (stacks, allocations) = (self.stacks.as_ref().ok(), self.allocations.as_ref().ok());
        let calls = self.system_calls.as_ref().ok();
        let has_counters = !self.counter_names.is_empty();
        EvidenceFile {
            unavailable: self.missing(),
            stack_interval_ns: stacks.map(|_| STACK_INTERVAL.as_nanos() as u64),
            stacks_lost: stacks.map(StackSampler::lost),
            objects_per_stack: allocations.map(|_| OBJECTS_PER_STACK),
            allocation_stacks_lost: allocations.map(AllocationSampler::lost),
            counters: has_counters.then(|| self.counter_names.clone()),
            counter_reading_ns: self.counter_reading_ns,
            system_call_overhead_ns: calls.map(SystemCallRecorder::overhead_ns),
            system_calls_lost: calls.map(SystemCallRecorder::lost),
        }
    }
}
