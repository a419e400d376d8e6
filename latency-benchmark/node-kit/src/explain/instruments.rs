//! Starts and switches everything that observes central's worker.

use std::time::Duration;

use poll_probe::{Capacity, RecordClock, Recorder};
use run_format::{EvidenceFile, MissingEvidence, Pass};

use super::meter;
use super::strace::Strace;
use crate::profiler::{Counters, StackReader, StackSampler, Unobservable, allocations};

/// Timers are due at whole milliseconds. This interval does not coincide with them.
const STACK_INTERVAL: Duration = Duration::from_micros(487);
const OBJECTS_PER_STACK: u64 = 199;

/// A recorder that reads what [`Instruments`] counts.
pub(crate) fn recorder() -> Recorder {
    /// Enough for the readings between two looks into the buffers.
    const READINGS: usize = 1 << 18;
    Recorder::with_meter(Capacity::default(), READINGS, meter::read)
}

/// Everything that observes the worker. It is switched off at first.
pub(crate) struct Instruments {
    pub(super) stacks: Option<StackSampler>,
    pub(super) allocations: Option<StackReader>,
    pub(super) strace: Option<Strace>,
    pub(super) process_counters: Counters,
    /// The parts of the file that are known from the beginning.
    pub(super) file: EvidenceFile,
}

impl Instruments {
    /// The worker calls this before it polls anything.
    pub(crate) fn arm(clock: &RecordClock) -> Instruments {
        let now_ns = || {
            let clock = clock.clone();
            move || clock.now_ns()
        };
        let counters = Counters::for_this_thread();
        let mut file = EvidenceFile {
            counters: Some(counters.names().to_vec()),
            counter_reading_ns: Some(meter::reading_ns(&counters)),
            ..EvidenceFile::default()
        };
        for missing in counters.unavailable() {
            or_note_missing::<()>(&mut file, Pass::Counters, Err(missing.clone()));
        }
        meter::read_by_this_thread(counters);
        let allocations = allocations::watch_this_thread(OBJECTS_PER_STACK, now_ns());
        let stacks = StackSampler::start(STACK_INTERVAL, now_ns());
        let mut instruments = Instruments {
            stacks: or_note_missing(&mut file, Pass::Stacks, stacks),
            allocations: or_note_missing(&mut file, Pass::Allocations, allocations),
            strace: or_note_missing(&mut file, Pass::SystemCalls, Strace::for_this_thread()),
            // These count only threads that are started from here on.
            process_counters: Counters::for_process(),
            file,
        };
        instruments.file.stack_interval_ns = instruments.stacks.as_mut().map(|stacks| {
            stacks.time_signals();
            STACK_INTERVAL.as_nanos() as u64
        });
        instruments.file.objects_per_stack =
            instruments.allocations.as_ref().map(|_| OBJECTS_PER_STACK);
        instruments
    }

    pub(crate) fn is_available(&self, pass: Pass) -> bool {
        match pass {
            Pass::Stacks => self.stacks.is_some(),
            Pass::Allocations => self.allocations.is_some(),
            Pass::SystemCalls => self.strace.is_some(),
            Pass::Warm => false,
            Pass::Compare
            | Pass::Children
            | Pass::Timeline
            | Pass::Activity
            | Pass::Counters
            | Pass::Normal => true,
        }
    }

    /// Begins to count. This happens some time before the slice, because a count that began amid a poll would tell nothing
    /// about that poll.
    pub(crate) fn prepare(&self, pass: Pass) {
        allocations::set_counting(pass == Pass::Allocations);
        meter::read_counters(pass == Pass::Counters);
    }

    /// Starts or stops the sampling of stacks or the counting of system calls.
    pub(super) fn switch(&mut self, pass: Pass, is_on: bool) {
        match (pass, &self.stacks, &mut self.strace) {
            (Pass::Stacks, Some(stacks), _) => stacks.set_recording(is_on),
            (Pass::SystemCalls, _, Some(strace)) if is_on => strace.attach(),
            (Pass::SystemCalls, _, Some(strace)) => strace.detach(),
            _ => {}
        }
    }

    /// Reads the counters of the process. Returns None if the kernel does not answer.
    pub(super) fn counted(&self) -> Option<Vec<u64>> {
        let mut counts = vec![0; self.process_counters.names().len()];
        self.process_counters.read(&mut counts)?;
        Some(counts)
    }

    pub(super) fn describe(self) -> EvidenceFile {
        EvidenceFile {
            stacks_lost: self.stacks.map(|stacks| stacks.lost()),
            allocation_stacks_lost: self.allocations.map(|stacks| stacks.lost()),
            ..self.file
        }
    }
}

/// Returns what was found, or notes why it is unavailable.
fn or_note_missing<T>(
    file: &mut EvidenceFile,
    pass: Pass,
    found: Result<T, Unobservable>,
) -> Option<T> {
    let note = |Unobservable { what, why }| {
        file.unavailable.push(MissingEvidence { pass, what, why });
    };
    found.map_err(note).ok()
}
