//! The system calls of central's polls, as strace shows them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use program::{ChildLimits, require_system_tool};
use run_format::{CountKind, CountName, CountPlace};

/// These calls are not counted, because their number depends on where the heap begins.
const CALLS_OF_THE_ALLOCATOR: [&str; 5] = ["brk", "madvise", "mmap", "mremap", "munmap"];

/// The call that the program makes before and after each of central's polls.
const MARK: &str = "getppid";

pub(super) struct Strace(PathBuf);

impl Strace {
    /// The installed strace. Fails if it cannot trace a program on this machine.
    pub(super) fn find() -> Result<Strace> {
        let strace = require_system_tool("strace")?;
        let tried =
            ChildLimits::SHORT_ANSWER.output(Command::new(&strace).args(["-qq", "true"]))?;
        ensure!(tried.status.success(), "strace cannot trace a program here");
        Ok(Strace(strace))
    }

    /// Runs a program that counts for `--gate`. The calls of its first thread, which does all the work, are written to a file.
    pub(super) fn command(&self, program: &Path, trace: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.args(["-qq", "-o"]).arg(trace).arg(program);
        command
    }
}

/// Counts the calls in a trace. A file to which nothing was traced is empty.
pub(super) fn read(trace: &Path) -> Result<BTreeMap<CountName, u64>> {
    let text =
        fs::read_to_string(trace).with_context(|| format!("cannot read {}", trace.display()))?;
    Ok(parse(&text))
}

fn parse(text: &str) -> BTreeMap<CountName, u64> {
    let (mut counts, mut is_in_poll) = (BTreeMap::new(), false);
    for line in text.lines() {
        let Some((call, _)) = line.split_once('(') else {
            continue;
        };
        if call == MARK {
            is_in_poll = !is_in_poll;
        } else if is_in_poll && !CALLS_OF_THE_ALLOCATOR.contains(&call) {
            let name = CountName {
                kind: CountKind::SystemCalls,
                place: CountPlace::SystemCall(call.to_owned()),
            };
            *counts.entry(name).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_between_marks() {
        let text = "execve(\"/node\", [\"node\"], 0x7ff /* 1 var */) = 0\n\
                    sendto(5, \"a\", 1, MSG_NOSIGNAL, NULL, 0) = 1\n\
                    getppid()                               = 7\n\
                    sendto(5, \"getppid()\", 9, MSG_NOSIGNAL, NULL, 0) = 9\n\
                    brk(0x5000)                             = 0x5000\n\
                    sendto(5, \"b\", 1, MSG_NOSIGNAL, NULL, 0) = 1\n\
                    getppid()                               = 7\n\
                    epoll_wait(3, [], 1024, 0)              = 0\n\
                    getppid()                               = 7\n\
                    recvfrom(5, 0x7ff, 1, 0, NULL, NULL)    = -1 EAGAIN\n\
                    getppid()                               = 7\n\
                    +++ exited with 0 +++\n";
        let counts = parse(text).into_iter();
        let counts: Vec<_> = counts
            .map(|(name, count)| (name.place.to_string(), count))
            .collect();
        let expected = [("central, `recvfrom`", 1), ("central, `sendto`", 2)];
        let expected = expected.map(|(place, count)| (place.to_owned(), count));
        assert_eq!(counts, expected);
    }
}
