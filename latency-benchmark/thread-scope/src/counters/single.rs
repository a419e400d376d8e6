//! A counter on its own, which threads inherit.
#![allow(unsafe_code, reason = "reads into memory on the stack")]

use std::os::fd::AsRawFd;

use perf_event::{Counter, events::Event};

use super::{
    events::{self, Scope},
    share,
};
use crate::Unavailable;

pub(super) struct Single {
    counter: Counter,
    name: String,
    scope: Scope,
}

impl Single {
    /// Counts from here on what this thread does, and every thread that it starts, and those that they
    /// start.
    pub(super) fn open<E: Event>(name: &str, event: E) -> Result<Single, Unavailable> {
        let opened = events::open(event, |builder| builder.inherit(true).enabled(true).build());
        let (counter, scope) = opened.map_err(|error| events::unavailable(name, &error))?;
        let single = Single {
            counter,
            name: scope.name(name),
            scope,
        };
        match single.words() {
            Some([_, enabled_ns, 0]) if enabled_ns > 0 => Err(Unavailable::new(
                single.name,
                "the processor's counters are taken",
            )),
            Some(_) => Ok(single),
            None => Err(Unavailable::new(single.name, "it cannot be read")),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn counts_kernel(&self) -> bool {
        self.scope == Scope::UserAndKernel
    }

    pub(super) fn read(&self) -> Option<u64> {
        self.words().map(|[count, ..]| count)
    }

    pub(super) fn counted_share(&self) -> Option<f64> {
        let [_, enabled_ns, running_ns] = self.words()?;
        Some(share(enabled_ns, running_ns))
    }

    fn words(&self) -> Option<[u64; 3]> {
        let mut words = [0; 3];
        // SAFETY: there is room for as many bytes.
        let bytes = unsafe {
            libc::read(
                self.counter.as_raw_fd(),
                words.as_mut_ptr().cast(),
                size_of_val(&words),
            )
        };
        (usize::try_from(bytes) == Ok(size_of_val(&words))).then_some(words)
    }
}
