use perf_event::{Counter, events::Event};

use super::{
    events::{self, CountedModes, HARDWARE, MIGRATIONS, fill, read_words},
    usage::{self, Who},
};

/// Counters of the whole process, with the same names as in [`ThreadCounters`](crate::ThreadCounters).
///
/// CPU time, context switches and page faults are those of all threads since the process began. The other
/// counters start when they are opened, and count the opening thread and all threads that it starts later,
/// directly or indirectly. That is the whole process if they are opened before it has other threads.
pub struct ProcessCounters {
    of_processor: Vec<InheritedCounter>,
    migrations: Option<InheritedCounter>,
    names: Vec<String>,
}

impl ProcessCounters {
    /// Opens all counters that are available.
    pub fn open() -> ProcessCounters {
        let open = |(name, event)| InheritedCounter::open(name, event);
        let of_processor: Vec<_> = HARDWARE.into_iter().filter_map(open).collect();
        let (name, event) = MIGRATIONS;
        // Migrations happen in the kernel; without it they would count as zero.
        let migrations = InheritedCounter::open(name, event)
            .filter(|counter| counter.modes == CountedModes::UserAndKernel);
        let name = |counter: &InheritedCounter| counter.name.clone();
        let mut names: Vec<String> = of_processor.iter().map(name).collect();
        names.extend(usage::NAMES.map(str::to_owned));
        names.extend(migrations.iter().map(name));
        ProcessCounters {
            of_processor,
            migrations,
            names,
        }
    }

    /// The names of the counters, in the order in which they are read.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Reads all counters, or as many as `into` has room for. If the kernel does not answer, which it should
    /// always do, returns false and reads nothing.
    pub fn read(&self, into: &mut [u64]) -> bool {
        let usage = usage::read(Who::Process);
        let counts = self
            .of_processor
            .iter()
            .map(InheritedCounter::read)
            .chain((0..usage::NAMES.len()).map(|index| usage.map(|usage| usage[index])))
            .chain(self.migrations.iter().map(InheritedCounter::read));
        if counts.clone().any(|count| count.is_none()) {
            return false;
        }
        fill(into, counts.flatten());
        true
    }
}

/// A counter that new threads inherit.
struct InheritedCounter {
    counter: Counter,
    name: String,
    modes: CountedModes,
}

impl InheritedCounter {
    /// Counts from now on, on this thread and on all threads that it starts, directly or indirectly. `None` if
    /// the event cannot be counted.
    fn open<E: Event>(name: &str, event: E) -> Option<InheritedCounter> {
        let opened = events::open(event, |builder| builder.inherit(true).enabled(true).build());
        let (counter, modes) = opened.ok()?;
        let [_, enabled_ns, running_ns] = read_words(&counter, 3)?;
        let never_counts = enabled_ns > 0 && running_ns == 0;
        (!never_counts).then(|| InheritedCounter {
            counter,
            name: modes.name(name),
            modes,
        })
    }

    fn read(&self) -> Option<u64> {
        read_words::<3>(&self.counter, 3).map(|[count, ..]| count)
    }
}
