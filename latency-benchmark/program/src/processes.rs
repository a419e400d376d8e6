//! Starts other processes and reads what they print. A child that prints without end, or does not end, is killed.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{iter, process, thread};

use anyhow::{Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::interrupts::interrupts_seen;
use crate::output::eprint_line;

/// The time that a child may run, and the bytes that it may print.
#[derive(Clone, Copy, Debug)]
pub struct ChildLimits {
    /// The limit of the time from its start to its end.
    pub time: Duration,
    /// The limit of its output, and the same for its errors.
    pub bytes: usize,
}

impl ChildLimits {
    /// The limits of a program that only prints an answer, such as its version.
    pub const SHORT_ANSWER: ChildLimits = ChildLimits {
        time: Duration::from_secs(10),
        bytes: 1 << 20,
    };

    /// Runs a program without input, like [`output_with`](ChildLimits::output_with).
    pub fn output(self, command: &mut Command) -> io::Result<Output> {
        self.output_with(command, Stdio::null())
    }

    /// Runs a program and returns what it prints. Fails if it prints too much or takes too long, or if the user asks for
    /// an end meanwhile.
    pub fn output_with(self, command: &mut Command, input: Stdio) -> io::Result<Output> {
        let command = command.stdin(input).stdout(Stdio::piped());
        // The child has a process group of its own, so that its children can be ended together with it.
        let mut child = command.stderr(Stdio::piped()).process_group(0).spawn()?;
        let output = self.rest_of(&mut child);
        if output.is_err() {
            signal_group(&child, Signal::SIGKILL);
            child.wait()?;
        }
        output
    }

    /// Returns what a running child prints until its end. Its output and its errors are pipes.
    pub fn rest_of(self, child: &mut Child) -> io::Result<Output> {
        let (deadline, before) = (Instant::now() + self.time, interrupts_seen());
        let left = || deadline.saturating_duration_since(Instant::now());
        let seconds = self.time.as_secs();
        let too_long = || io::Error::other(format!("it did not end within {seconds} s"));
        let stdout = self.receive(child.stdout.take().expect("stdout is piped"))?;
        let stderr = self.receive(child.stderr.take().expect("stderr is piped"))?;
        let text = |pipe: Receiver<Vec<u8>>| loop {
            match pipe.recv_timeout(left().min(LOOK_AROUND)) {
                Ok(text) if text.len() <= self.bytes => return Ok(text),
                Ok(_) => {
                    let limit = format!("it prints more than {} KiB", self.bytes >> 10);
                    return Err(io::Error::other(limit));
                }
                Err(RecvTimeoutError::Timeout) if interrupts_seen() > before => {
                    return Err(interrupted());
                }
                Err(RecvTimeoutError::Timeout) if !left().is_zero() => {}
                Err(_) => return Err(too_long()),
            }
        };
        Ok(Output {
            stdout: text(stdout)?,
            stderr: text(stderr)?,
            // A child may close its output before it ends.
            status: wait_within(child, left())?.ok_or_else(too_long)?,
        })
    }

    /// Has another thread read the pipe to its end, or to one byte more than the limit.
    fn receive(self, pipe: impl Read + Send + 'static) -> io::Result<Receiver<Vec<u8>>> {
        let (sender, text) = channel();
        let most = self.bytes as u64 + 1;
        thread::Builder::new().spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.take(most).read_to_end(&mut text);
            let _ = sender.send(text);
        })?;
        Ok(text)
    }
}

const LOOK_AROUND: Duration = Duration::from_millis(50);

fn interrupted() -> io::Error {
    io::Error::other("it was interrupted")
}

fn signal_group(leader: &Child, signal: Signal) {
    if let Ok(group) = i32::try_from(leader.id()) {
        // It fails only if the group has ended.
        let _ = killpg(Pid::from_raw(group), signal);
    }
}

/// Ends a child that leads a process group of its own, and all of that group.
pub fn end_group(child: &mut Child) -> io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(1);
    signal_group(child, Signal::SIGTERM);
    wait_within(child, PATIENCE)?;
    signal_group(child, Signal::SIGKILL);
    child.wait().map(drop)
}

/// Waits for the end of a program, however long it takes. Ends it, and what it has started, if the user has asked for an end
/// more often than `before`.
pub fn wait_or_interrupt(command: &mut Command, before: usize) -> io::Result<ExitStatus> {
    let mut child = command.process_group(0).spawn()?;
    loop {
        if let Some(status) = wait_within(&mut child, LOOK_AROUND)? {
            return Ok(status);
        }
        if interrupts_seen() > before {
            end_group(&mut child)?;
            return Err(interrupted());
        }
    }
}

/// Locks a file. If another process has the lock, this prints `waits`, and waits until the lock is free or the user asks for
/// an end.
pub fn lock(file: &File, waits: &str) -> io::Result<()> {
    let mut is_said = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if interrupts_seen() > 0 => {
                return Err(ErrorKind::Interrupted.into());
            }
            Err(TryLockError::WouldBlock) => {}
        }
        if !is_said {
            eprint_line(waits);
            is_said = true;
        }
        thread::sleep(LOOK_AROUND);
    }
}

/// Calls `work` with every item, each in a thread of its own. Returns the results in the order of the items.
pub fn in_threads<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let work = &work;
    thread::scope(|scope| {
        let start = |item| thread::Builder::new().spawn_scoped(scope, move || work(item));
        let started = items.into_iter().map(start);
        let started = started.collect::<io::Result<Vec<_>>>()?;
        let ends = started.into_iter().map(|thread| thread.join());
        ends.map(|end| end.unwrap_or_else(|_| bail!("a thread panicked")))
            .collect()
    })
}

/// Waits for the end of a child. None if it has not ended within `patience`.
pub fn wait_within(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    const LOOK: Duration = Duration::from_millis(5);
    let deadline = Instant::now() + patience;
    loop {
        let status = child.try_wait()?;
        if status.is_some() || Instant::now() > deadline {
            return Ok(status);
        }
        thread::sleep(LOOK);
    }
}

/// The lines that a child prints. They end before a line that is longer than any message.
pub fn lines(from: impl Read) -> impl Iterator<Item = String> {
    const LONGEST: usize = 16 << 20;
    let mut from = BufReader::new(from);
    iter::from_fn(move || {
        let mut line = Vec::new();
        let mut limited = from.by_ref().take(LONGEST as u64);
        let read = limited.read_until(b'\n', &mut line).ok()?;
        let is_one = (1..LONGEST).contains(&read);
        is_one.then(|| String::from_utf8_lossy(&line).trim_end().to_owned())
    })
}

/// Reads to the end, and returns the last 64 KiB, which say why a child failed.
pub fn tail(mut from: impl Read) -> String {
    const LONGEST: usize = 64 << 10;
    let mut text = Vec::new();
    while let Ok(1..) = from.by_ref().take(LONGEST as u64).read_to_end(&mut text) {
        text.drain(..text.len().saturating_sub(LONGEST));
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Receives those lines of standard input that are known. When standard input ends, the parent is gone, and this process
/// exits at once.
pub fn lines_or_end<const N: usize>(
    known: [&'static str; N],
) -> io::Result<Receiver<&'static str>> {
    let (sender, receiver) = channel();
    thread::Builder::new().spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if let Some(known) = known.into_iter().find(|known| *known == line) {
                let _ = sender.send(known);
            }
        }
        process::exit(1);
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: ChildLimits = ChildLimits {
        time: Duration::from_millis(300),
        bytes: 1 << 10,
    };

    fn shell(script: &str) -> io::Result<Output> {
        SOON.output(Command::new("/bin/sh").args(["-c", script]))
    }

    #[test]
    fn a_child_that_prints_without_end_or_never_ends_is_killed() {
        for (script, says) in [
            ("yes", "it prints more than 1 KiB"),
            ("yes >&2", "it prints more than 1 KiB"),
            ("sleep 1000", "it did not end within"),
            ("exec >&- 2>&-; sleep 1000", "it did not end within"),
            // Its child holds its output open.
            ("sleep 1000 & exit 0", "it did not end within"),
        ] {
            let error = shell(script).expect_err(script);
            assert!(error.to_string().starts_with(says), "{script}: {error}");
        }
    }

    #[test]
    fn what_a_child_prints_is_returned() {
        let limits = ChildLimits::SHORT_ANSWER;
        let script = ["-c", "echo out; echo err >&2; exit 3"];
        let output = limits.output(Command::new("/bin/sh").args(script));
        let output = output.expect("it ends");
        assert_eq!(output.stdout, b"out\n");
        assert_eq!(output.stderr, b"err\n");
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn lines_and_the_end_of_endless_output_take_little_memory() {
        let endless = || io::repeat(b'y').take(40 << 20);
        assert_eq!(lines(endless()).count(), 0);
        let said = (&b"one\ntwo\n"[..]).chain(endless());
        assert_eq!(lines(said).collect::<Vec<_>>(), ["one", "two"]);
        let end = tail(endless().chain(&b"\nwhy\n"[..]));
        assert!(end.ends_with("y\nwhy\n") && end.len() == 64 << 10);
    }
}
