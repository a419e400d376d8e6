//! Counters of one thread that are read together.
#![allow(unsafe_code, reason = "reads into memory on the stack")]

use std::{io, os::fd::AsRawFd};

use perf_event::{Builder, Counter, ReadFormat, events::Event};

use super::{
    events::{self, Scope},
    fill, share,
};
use crate::Unavailable;

/// The most there are.
const MOST: usize = 5;

/// What the kernel writes: how many, both times, and each count with the counter's number.
const WORDS: usize = 3 + 2 * MOST;

pub(super) struct Group {
    leader: Counter,
    /// Held open.
    members: Vec<Counter>,
    names: Vec<String>,
}

impl Group {
    /// Those of the events that can be counted on this thread, counting from here on. None if there is
    /// none. The others are added to `missing`.
    pub(super) fn open<E: Event + Copy>(
        events: [(&str, E); MOST],
        missing: &mut Vec<Unavailable>,
    ) -> Option<Group> {
        let mut group: Option<Group> = None;
        for (name, event) in events {
            let opened = events::open(event, |builder| {
                let builder = builder.read_format(
                    ReadFormat::GROUP
                        | ReadFormat::TOTAL_TIME_ENABLED
                        | ReadFormat::TOTAL_TIME_RUNNING,
                );
                join(builder, &mut group)
            });
            match opened {
                Ok((counter, scope)) => match &mut group {
                    Some(group) => group.add(counter, scope.name(name)),
                    None => group = Some(Group::led_by(counter, scope.name(name))),
                },
                Err(error) => missing.push(events::unavailable(name, &error)),
            }
        }
        let mut group = group?;
        if let Err(error) = group.leader.enable() {
            let names = group.names.iter();
            missing.extend(names.map(|name| events::unavailable(name, &error)));
            return None;
        }
        if group.never_counts() {
            let why = "the processor's counters are taken, perhaps by the NMI watchdog";
            missing.extend(group.names.iter().map(|name| Unavailable::new(name, why)));
            return None;
        }
        Some(group)
    }

    fn led_by(leader: Counter, name: String) -> Group {
        Group {
            leader,
            members: Vec::new(),
            names: vec![name],
        }
    }

    fn add(&mut self, member: Counter, name: String) {
        self.members.push(member);
        self.names.push(name);
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// A counter that is on gets the processor at once, or not before another is taken from it.
    fn never_counts(&self) -> bool {
        self.words()
            .is_none_or(|words| words[1] > 0 && words[2] == 0)
    }

    /// One `read`. False if the kernel does not answer.
    pub(super) fn read(&self, into: &mut [u64]) -> bool {
        let Some(words) = self.words() else {
            return false;
        };
        let counts = words[3..].iter().step_by(2).take(self.names.len());
        fill(into, counts.copied());
        true
    }

    pub(super) fn counted_share(&self) -> Option<f64> {
        self.words().map(|words| share(words[1], words[2]))
    }

    fn words(&self) -> Option<[u64; WORDS]> {
        let mut words = [0; WORDS];
        // SAFETY: there is room for as many bytes.
        let bytes = unsafe {
            libc::read(
                self.leader.as_raw_fd(),
                words.as_mut_ptr().cast(),
                size_of_val(&words),
            )
        };
        // The whole of it, or an error.
        let wanted = (3 + 2 * self.names.len()) * size_of::<u64>();
        (usize::try_from(bytes) == Ok(wanted)).then_some(words)
    }
}

/// The leader is off until all have joined, and they wait for it. Were they off, too, and switched on with
/// it, they would count only after the thread's next pause.
fn join(builder: &mut Builder, group: &mut Option<Group>) -> io::Result<Counter> {
    match group {
        Some(group) => builder.enabled(true).build_with_group(&mut group.leader),
        None => builder.enabled(false).build(),
    }
}

/// Whether every counter counts what happens in the kernel, too.
pub(super) fn counts_kernel(group: &Group) -> bool {
    group
        .names
        .iter()
        .all(|name| !name.ends_with(&Scope::User.name("")))
}
