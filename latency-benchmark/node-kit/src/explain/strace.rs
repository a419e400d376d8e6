//! Counts the system calls of central's worker with the program `strace`, which is attached to the worker during a slice.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, gettid};
use program::{one_line, require_system_tool};

use crate::profiler::Unobservable;

/// A row of strace's table.
#[derive(Debug, PartialEq)]
pub(super) struct CountedCall {
    pub(super) name: String,
    pub(super) calls: u64,
    /// The time of all these calls together, from entry to return.
    pub(super) ns: u64,
}

/// Attaches strace to one thread. The other threads of central only measure, so they are not traced.
pub(super) struct Strace {
    worker: Pid,
    attached: Option<Attached>,
    /// The counts of the last slice.
    counted: Result<Vec<CountedCall>>,
}

struct Attached {
    strace: Child,
    said: BufReader<ChildStderr>,
}

impl Strace {
    /// Makes a counter for the calling thread. It attaches once, to learn whether this machine permits it.
    pub(super) fn for_this_thread() -> Result<Strace, Unobservable> {
        let worker = gettid();
        let tried = Attached::to(worker).and_then(Attached::detach);
        let unobservable = |error| Unobservable::new("system calls", format!("{error:#}"));
        tried.map_err(unobservable)?;
        Ok(Strace {
            worker,
            attached: None,
            counted: Ok(Vec::new()),
        })
    }

    /// Begins to count, and returns once strace is attached.
    pub(super) fn attach(&mut self) {
        match Attached::to(self.worker) {
            Ok(attached) => self.attached = Some(attached),
            Err(error) => self.counted = Err(error),
        }
    }

    pub(super) fn detach(&mut self) {
        if let Some(attached) = self.attached.take() {
            self.counted = attached.detach();
        }
    }

    /// Takes the counts from `attach` to `detach`.
    pub(super) fn take(&mut self) -> Result<Vec<CountedCall>> {
        std::mem::replace(&mut self.counted, Ok(Vec::new()))
    }
}

impl Attached {
    fn to(worker: Pid) -> Result<Attached> {
        let mut command = Command::new(require_system_tool("strace")?);
        // The probe asks for the thread's time after long polls, and strace makes polls long.
        let others = "trace=!clock_gettime";
        command
            .args(["-c", "-w", "-e", others, "-p", &worker.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut strace = command.spawn().context("strace cannot be started")?;
        let said = strace.stderr.take().context("strace has no stderr")?;
        let mut said = BufReader::new(said);
        let mut complaint = String::new();
        loop {
            let begin = complaint.len();
            if said.read_line(&mut complaint)? == 0 {
                strace.wait()?;
                bail!("strace cannot attach to central: {}", one_line(&complaint));
            }
            if complaint[begin..].trim_end().ends_with("attached") {
                return Ok(Attached { strace, said });
            }
        }
    }

    fn detach(mut self) -> Result<Vec<CountedCall>> {
        kill(
            Pid::from_raw(self.strace.id().cast_signed()),
            Signal::SIGINT,
        )?;
        let mut table = String::new();
        self.said.read_to_string(&mut table)?;
        self.strace.wait()?;
        Ok(table.lines().filter_map(row).collect())
    }
}

/// Reads a row, which has a percentage, seconds, microseconds per call, calls, perhaps the number of errors, and the name.
/// Returns None for other lines, and for the row of the sum.
fn row(line: &str) -> Option<CountedCall> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (name, [_, seconds, _, calls, ..]) = fields.split_last()? else {
        return None;
    };
    let (seconds, calls) = (seconds.parse::<f64>().ok()?, calls.parse().ok()?);
    (*name != "total").then(|| CountedCall {
        name: (*name).to_owned(),
        calls,
        ns: (seconds * 1e9).round() as u64,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::parent_id;

    use super::*;

    #[test]
    fn the_table_of_strace_is_read_with_and_without_errors() {
        let table = "\
strace: Process 7 detached
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 61.73    1.735602        2451       708        54 futex
 38.27    0.090667         143       631           sendto
------ ----------- ----------- --------- --------- ----------------
100.00    1.826269        1363      1339        54 total
";
        let call = |name: &str, calls, ns| CountedCall {
            name: name.to_owned(),
            calls,
            ns,
        };
        let rows: Vec<_> = table.lines().filter_map(row).collect();
        let expected = [
            call("futex", 708, 1_735_602_000),
            call("sendto", 631, 90_667_000),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn calls_of_a_thread_are_counted_from_attaching_to_detaching() {
        let mut strace = match Strace::for_this_thread() {
            Ok(strace) => strace,
            Err(missing) => {
                assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{missing}");
                eprintln!("skipped: {missing}");
                return;
            }
        };
        let _ = parent_id();
        strace.attach();
        for _ in 0..7 {
            let _ = parent_id();
        }
        strace.detach();
        let _ = parent_id();
        let calls = strace.take().expect("it was attached");
        let asked = calls.iter().find(|call| call.name == "getppid");
        assert_eq!(asked.map(|call| call.calls), Some(7), "{calls:?}");
        assert!(strace.take().expect("nothing failed").is_empty());
    }
}
