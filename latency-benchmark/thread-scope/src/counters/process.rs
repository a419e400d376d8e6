use perf_event::{Counter, events::Hardware};

use super::{
    events::{self, HARDWARE, fill, read_words},
    usage,
};

/// Counters of the whole process, with the same names as in [`ThreadCounters`](crate::ThreadCounters).
///
/// CPU time, context switches and page faults are those of all threads since the process began. The other
/// counters start when they are opened, and count the opening thread and all threads that it starts later,
/// directly or indirectly. That is the whole process if they are opened before it has other threads.
pub struct ProcessCounters {
    of_processor: Vec<Counter>,
    names: Vec<String>,
}

impl ProcessCounters {
    /// Opens all counters that are available.
    pub fn open() -> ProcessCounters {
        let (of_processor, mut names): (Vec<_>, Vec<_>) =
            HARDWARE.into_iter().filter_map(open_inherited).unzip();
        names.extend(usage::NAMES.map(str::to_owned));
        ProcessCounters {
            of_processor,
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
        let of_processor = self.of_processor.iter().map(|counter| {
            let words: Option<[u64; 3]> = read_words(counter, 3);
            words.map(|[count, ..]| count)
        });
        let (Some(of_processor), Some(usage)) = (
            of_processor.collect::<Option<Vec<u64>>>(),
            usage::read(usage::PROCESS),
        ) else {
            return false;
        };
        fill(into, of_processor.into_iter().chain(usage));
        true
    }
}

/// A counter that new threads inherit, and its name. It counts from now on, on this thread and on all threads that it
/// starts, directly or indirectly. `None` if the event cannot be counted.
fn open_inherited(event: (&str, Hardware)) -> Option<(Counter, String)> {
    let opened = events::open(event, |builder| builder.inherit(true).enabled(true).build());
    let (counter, name) = opened.ok()?;
    let [_, enabled_ns, running_ns] = read_words(&counter, 3)?;
    let never_counts = enabled_ns > 0 && running_ns == 0;
    (!never_counts).then_some((counter, name))
}
