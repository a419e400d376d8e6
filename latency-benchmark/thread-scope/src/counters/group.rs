//! Counters of one thread that are read together.

use std::io;

use perf_event::{Builder, Counter, ReadFormat, events::Event};

use super::events::{self, CountedModes, fill, read_words};
use crate::Unobservable;

/// The maximum number of counters in a group.
const MOST: usize = 5;

/// What the kernel writes: the number of counters, both times, and the value and id of each counter.
const WORDS: usize = 3 + 2 * MOST;

pub(super) struct CounterGroup {
    leader: Counter,
    /// They count as long as they are open.
    members: Vec<Counter>,
    names: Vec<String>,
}

impl CounterGroup {
    /// Opens the events that can be counted on this thread, and starts counting. Adds the others to `missing`.
    /// `None` if no event can be counted.
    pub(super) fn open<E: Event + Copy>(
        events: [(&str, E); MOST],
        missing: &mut Vec<Unobservable>,
    ) -> Option<CounterGroup> {
        let mut group: Option<CounterGroup> = None;
        for (name, event) in events {
            let opened = events::open(event, |builder| {
                let builder = builder.read_format(
                    ReadFormat::GROUP
                        | ReadFormat::TOTAL_TIME_ENABLED
                        | ReadFormat::TOTAL_TIME_RUNNING,
                );
                join(builder, &mut group)
            });
            match (opened, &mut group) {
                (Ok((member, modes)), Some(group)) => {
                    group.members.push(member);
                    group.names.push(modes.name(name));
                }
                (Ok((leader, modes)), None) => {
                    group = Some(CounterGroup {
                        leader,
                        members: Vec::new(),
                        names: vec![modes.name(name)],
                    });
                }
                (Err(error), _) => missing.push(events::unavailable(name, &error)),
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

    /// Whether every counter includes events in the kernel.
    pub(super) fn counts_kernel(&self) -> bool {
        let suffix = CountedModes::User.name("");
        !self.names.iter().any(|name| name.ends_with(&suffix))
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
