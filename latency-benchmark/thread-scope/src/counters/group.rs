//! The processor's counters of one thread, which are read together.

use std::io;

use perf_event::{Builder, Counter, ReadFormat};

use super::events::{self, HARDWARE, fill, read_words};
use crate::Unobservable;

/// What the kernel writes: the number of counters, both times, and the value and id of each counter.
const WORDS: usize = 3 + 2 * HARDWARE.len();

pub(super) struct CounterGroup {
    leader: Counter,
    /// They count as long as they are open.
    members: Vec<Counter>,
    names: Vec<String>,
}

impl CounterGroup {
    /// Opens the events that can be counted on this thread, and starts counting. Adds the others to `missing`.
    /// `None` if no event can be counted.
    pub(super) fn open(missing: &mut Vec<Unobservable>) -> Option<CounterGroup> {
        let mut group: Option<CounterGroup> = None;
        for event in HARDWARE {
            let opened = events::open(event, |builder| {
                let builder = builder.read_format(
                    ReadFormat::GROUP
                        | ReadFormat::TOTAL_TIME_ENABLED
                        | ReadFormat::TOTAL_TIME_RUNNING,
                );
                join(builder, &mut group)
            });
            match (opened, &mut group) {
                (Ok((member, name)), Some(group)) => {
                    group.members.push(member);
                    group.names.push(name);
                }
                (Ok((leader, name)), None) => {
                    group = Some(CounterGroup {
                        leader,
                        members: Vec::new(),
                        names: vec![name],
                    });
                }
                (Err(error), _) => missing.push(events::unavailable(event.0, &error)),
            }
        }
        let mut group = group?;
        if let Err(error) = group.leader.enable() {
            let names = group.names.iter();
            missing.extend(names.map(|name| events::unavailable(name, &error)));
            return None;
        }
        if group.never_counts() {
            let why = "another program uses the processor's counters, perhaps the NMI watchdog";
            missing.extend(group.names.iter().map(|name| Unobservable::new(name, why)));
            return None;
        }
        Some(group)
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// An enabled counter gets the processor at once, or only when another counter gives it up.
    fn never_counts(&self) -> bool {
        self.words()
            .is_none_or(|words| words[1] > 0 && words[2] == 0)
    }

    /// Reads all counters with one `read`. False if the kernel does not answer.
    pub(super) fn read(&self, into: &mut [u64]) -> bool {
        let Some(words) = self.words() else {
            return false;
        };
        let counts = words[3..].iter().step_by(2).take(self.names.len());
        fill(into, counts.copied());
        true
    }

    fn words(&self) -> Option<[u64; WORDS]> {
        read_words(&self.leader, 3 + 2 * self.names.len())
    }
}

/// The leader is disabled until all members have joined. The members are enabled and wait for the leader. If
/// they were disabled and enabled together with the leader, they would count only after the thread's next
/// context switch.
fn join(builder: &mut Builder, group: &mut Option<CounterGroup>) -> io::Result<Counter> {
    match group {
        Some(group) => builder.enabled(true).build_with_group(&mut group.leader),
        None => builder.enabled(false).build(),
    }
}
