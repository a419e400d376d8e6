//! Counts what a thread does in user mode. The processor counts it, and hardly any of it depends on the machine's speed.

use std::io;

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};

use crate::profiler::Unobservable;
use crate::profiler::counters::{GROUP_FORMAT, read_words, refuse_starved, unavailable};

/// The counts begin when the counters are opened, so only differences are meaningful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserCounts {
    /// Instructions that the processor only tried are not among them.
    pub instructions: u64,
    /// The core's own cycles, so their length depends on its frequency.
    pub cycles: u64,
}

/// Counts what one thread of this process does. Any thread may read it.
pub struct UserWork {
    /// The leader of a group that has the processor's counters all the time or never.
    leader: Counter,
    /// It counts as long as it is open.
    _member: Counter,
}

impl UserWork {
    /// Begins to count, unless this machine or its rules do not allow it.
    pub fn for_thread(thread: i32) -> Result<UserWork, Unobservable> {
        UserWork::open(thread, Hardware::INSTRUCTIONS, Hardware::CPU_CYCLES)
            .map_err(|error| unavailable("instructions", &error))
    }

    fn open(thread: i32, first: impl Event, second: impl Event) -> io::Result<UserWork> {
        let mut leader = Builder::new(first)
            .observe_pid(thread)
            .read_format(GROUP_FORMAT)
            .exclude_kernel(true)
            // The kernel counts a pinned group all the time, or not at all.
            .pinned(true)
            .enabled(false)
            .build()?;
        let member = Builder::new(second)
            .observe_pid(thread)
            .read_format(GROUP_FORMAT)
            .exclude_kernel(true)
            .enabled(true)
            .build_with_group(&mut leader)?;
        leader.enable()?;
        refuse_starved(read_words::<WORDS>(&leader, WORDS))?;
        Ok(UserWork {
            leader,
            _member: member,
        })
    }

    /// Returns None once another program has taken the counters.
    pub fn read(&self) -> Option<UserCounts> {
        let [_, enabled, running, instructions, _, cycles, _] = read_words(&self.leader, WORDS)?;
        (enabled == running).then_some(UserCounts {
            instructions,
            cycles,
        })
    }
}

/// The kernel writes the number of counters, two times, and the value and id of each counter.
const WORDS: usize = 7;

#[cfg(test)]
mod tests {
    use std::hint;

    use nix::unistd::gettid;
    use perf_event::events::Software;

    use super::*;

    #[test]
    fn a_group_counts_another_thread_only() {
        let (told, thread) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            told.send(gettid().as_raw()).expect("the test waits");
            wait.recv().expect("the test sends");
            let began = std::time::Instant::now();
            while began.elapsed().as_millis() < 20 {
                hint::spin_loop();
            }
        });
        let thread_id = thread.recv().expect("the thread sends");
        // Counters of the kernel, which every machine has, in place of those of the processor.
        let (clock, faults) = (Software::TASK_CLOCK, Software::PAGE_FAULTS);
        match UserWork::open(thread_id, clock, faults) {
            Ok(work) => {
                let before = work.read().expect("counts");
                go.send(()).expect("the thread waits");
                other.join().expect("no panic");
                let after = work.read().expect("counts");
                assert!(after.instructions > before.instructions, "{after:?}");
            }
            Err(error) => {
                assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{error}");
                eprintln!("skipped: the kernel does not count here: {error}");
            }
        }
    }

    #[test]
    fn a_machine_that_counts_nothing_says_so() {
        match UserWork::for_thread(gettid().as_raw()) {
            Ok(work) => {
                let before = work.read().expect("counts");
                let after = work.read().expect("counts");
                assert!(after.instructions > before.instructions);
            }
            Err(unobservable) => assert_eq!(unobservable.what, "instructions"),
        }
    }
}
