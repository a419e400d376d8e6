//! What looks at central's worker.

use std::sync::Arc;
use std::time::Duration;

use crate::scope::allocations::{self, AllocationSampler};
use crate::scope::{Counters, Spinner, StackSampler, SystemCallRecorder, Unobservable};
use poll_probe::{Capacity, Recorder};
use run_format::{EvidenceFile, MissingEvidence, Pass};

use super::meter;

/// Does not beat with timers, which are due at whole milliseconds.
const STACK_INTERVAL: Duration = Duration::from_micros(487);
const OBJECTS_PER_STACK: u64 = 199;
/// Room for the system calls between two looks into the buffers, in 10 MiB.
const SYSTEM_CALLS: usize = 1 << 18;

/// A recorder that reads what [`Watch`] counts.
pub(crate) fn recorder() -> Recorder {
    /// More than there are between two looks into the buffers.
    const READINGS: usize = 1 << 18;
    Recorder::with_meter(Capacity::default(), READINGS, meter::read)
}

/// Everything that is there to look at the worker, all of it switched off at first.
pub(crate) struct Watch {
    pub(super) stacks: Option<StackSampler>,
    pub(super) allocations: Option<AllocationSampler>,
    pub(super) system_calls: Option<SystemCallRecorder>,
    spinner: Option<Spinner>,
    pub(super) process_counters: Counters,
    /// What is known from the beginning.
    pub(super) file: EvidenceFile,
}

impl Watch {
    /// To be called on the worker, before it polls anything.
    pub(crate) fn arm(recorder: &Arc<Recorder>, core: usize) -> Watch {
        let clock = || {
            let recorder = Arc::clone(recorder);
            move || recorder.now_ns()
        };
        let counters = Counters::of_this_thread();
        let names = counters.names();
        let mut file = EvidenceFile {
            counters: (!names.is_empty()).then(|| names.to_vec()),
            counter_reading_ns: meter::reading_ns(&counters),
            ..EvidenceFile::default()
        };
        for missing in counters.unavailable() {
            available::<()>(&mut file, Pass::Counters, Err(missing.clone()));
        }
        meter::read_by_this_thread(counters);
        let allocations = match allocations::is_installed() {
            true => allocations::watch_this_thread(OBJECTS_PER_STACK, clock()),
            false => Err(Unobservable::new(
                "allocations",
                "this node program was built without the allocator that counts them \
                 (to build the one with it: cargo build --profile explain -p libp2p-node --bin libp2p-node-counting --features symbols)",
            )),
        };
        let stacks = StackSampler::start(STACK_INTERVAL, clock());
        let system_calls = SystemCallRecorder::arm_this_thread(SYSTEM_CALLS, clock());
        let mut watch = Watch {
            stacks: available(&mut file, Pass::Stacks, stacks),
            allocations: available(&mut file, Pass::Allocations, allocations),
            system_calls: available(&mut file, Pass::SystemCalls, system_calls),
            spinner: available(&mut file, Pass::Warm, Spinner::start(core)),
            // Counts threads that are started from here on, which is all that are to come.
            process_counters: Counters::of_process(),
            file,
        };
        let (stacks, calls) = (watch.stacks.as_mut(), &watch.system_calls);
        watch.file.stack_interval_ns = stacks.map(|stacks| {
            stacks.time_signals();
            STACK_INTERVAL.as_nanos() as u64
        });
        watch.file.objects_per_stack = watch.allocations.as_ref().map(|_| OBJECTS_PER_STACK);
        watch.file.system_call_overhead_ns = calls.as_ref().map(SystemCallRecorder::overhead_ns);
        watch
    }

    pub(crate) fn is_available(&self, pass: Pass) -> bool {
        match pass {
            Pass::Stacks => self.stacks.is_some(),
            Pass::Allocations => self.allocations.is_some(),
            Pass::SystemCalls => self.system_calls.is_some(),
            Pass::Normal | Pass::Warm => self.spinner.is_some(),
            Pass::Compare | Pass::Children | Pass::Timeline | Pass::Activity | Pass::Counters => {
                true
            }
        }
    }

    /// Some time before the slice, keeps the core warm or not, and counts what is to be counted: a count that began amid a
    /// poll would tell nothing of that poll.
    pub(crate) fn prepare(&self, pass: Pass) {
        if let Some(spinner) = &self.spinner {
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
        self.process_counters.read(&mut counts)?;
        Some(counts)
    }

    pub(super) fn describe(self) -> EvidenceFile {
        EvidenceFile {
            stacks_lost: self.stacks.map(|stacks| stacks.lost()),
            allocation_stacks_lost: self.allocations.map(|stacks| stacks.lost()),
            system_calls_lost: self.system_calls.map(|calls| calls.lost()),
            ..self.file
        }
    }
}

/// What is there, or else a note of why it is not.
fn available<T>(file: &mut EvidenceFile, pass: Pass, found: Result<T, Unobservable>) -> Option<T> {
    let note = |Unobservable { what, why }| {
        file.unavailable.push(MissingEvidence { pass, what, why });
    };
    found.map_err(note).ok()
}
