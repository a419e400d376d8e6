use super::{
    events::{HARDWARE, MIGRATIONS},
    fill,
    single::Single,
    usage::{self, Who},
};
use crate::Unavailable;

/// Counts of the whole process, with the names that [`Counters`](crate::Counters) has for them.
///
/// CPU time, context switches and page faults are those of all threads since the process began. The
/// others count from the opening on, on the thread that opened them and those that it starts later,
/// directly or not: the whole process, if they are opened before it has other threads.
pub struct ProcessCounters {
    of_processor: Vec<Single>,
    migrations: Option<Single>,
    names: Vec<String>,
    missing: Vec<Unavailable>,
}

impl ProcessCounters {
    /// Opens whatever can be counted.
    pub fn open() -> ProcessCounters {
        let mut missing = Vec::new();
        let mut of_processor = Vec::new();
        for (name, event) in HARDWARE {
            match Single::open(name, event) {
                Ok(single) => of_processor.push(single),
                Err(unavailable) => missing.push(unavailable),
            }
        }
        let (name, event) = MIGRATIONS;
        let migrations = match Single::open(name, event) {
            Ok(single) if single.counts_kernel() => Some(single),
            Ok(_) => {
                let why = "what happens in the kernel may not be counted";
                missing.push(Unavailable::new(name, why));
                None
            }
            Err(unavailable) => {
                missing.push(unavailable);
                None
            }
        };
        let singles = |singles: &[Single]| -> Vec<String> {
            singles
                .iter()
                .map(|single| single.name().to_owned())
                .collect()
        };
        let mut names = singles(&of_processor);
        names.extend(usage::NAMES.map(str::to_owned));
        names.extend(migrations.iter().map(|single| single.name().to_owned()));
        ProcessCounters {
            of_processor,
            migrations,
            names,
            missing,
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

    /// Reads all counts into the first so many places, or as many as there are places. False, with
    /// nothing read, if the kernel fails to answer, which it has no cause to.
    pub fn read(&self, into: &mut [u64]) -> bool {
        let usage = usage::read(Who::Process);
        let counts = self
            .of_processor
            .iter()
            .map(Single::read)
            .chain((0..usage::NAMES.len()).map(|index| usage.map(|usage| usage[index])))
            .chain(self.migrations.iter().map(Single::read));
        if counts.clone().any(|count| count.is_none()) {
            return false;
        }
        fill(into, counts.flatten());
        true
    }

    /// The part of the time in which the processor did count, as in
    /// [`Counters::counted_share`](crate::Counters::counted_share): that of the counter with the least.
    pub fn counted_share(&self) -> Option<f64> {
        let shares = self.of_processor.iter().map(Single::counted_share);
        shares.flatten().min_by(f64::total_cmp)
    }
}
