//! Talks with a child process in lines. The child gets a task as JSON, sends messages as JSON, and can be asked to stop. A
//! cell and central are such processes.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use lab::KillOnDrop;
use program::{eprint_line, lines};
use run_format::STOP_LINE;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The number of messages that may wait to be read.
const MESSAGES: usize = 1024;

pub(crate) struct Conversation<M> {
    pub(crate) process: KillOnDrop,
    /// Disconnected when the child has closed its output.
    pub(crate) messages: Receiver<M>,
    input: ChildStdin,
    asked_to_stop: Option<Instant>,
}

impl<M: DeserializeOwned + Send + 'static> Conversation<M> {
    /// Starts a child and sends it the task. Ctrl-C on the terminal does not reach the child.
    pub(crate) fn start(command: &mut Command, task: &impl Serialize) -> Result<Conversation<M>> {
        let command = command.process_group(0).stdin(Stdio::piped());
        let child = command.stdout(Stdio::piped()).spawn()?;
        Conversation::begin(KillOnDrop { child }, task)
    }

    /// Sends the task to a child that was started with pipes.
    pub(crate) fn begin(mut process: KillOnDrop, task: &impl Serialize) -> Result<Conversation<M>> {
        let child = &mut process.child;
        let mut input = child.stdin.take().context("it has no standard input")?;
        let output = child.stdout.take().context("it has no standard output")?;
        let mut line = serde_json::to_vec(task)?;
        line.push(b'\n');
        // If the child has died already, its exit code says so.
        let _ = input.write_all(&line);
        // A child that sends more messages than are read has to wait.
        let (sender, messages) = sync_channel(MESSAGES);
        thread::Builder::new().spawn(move || {
            for line in lines(output) {
                match serde_json::from_str(&line) {
                    Ok(message) => drop(sender.send(message)),
                    Err(_) => eprint_line(line),
                }
            }
        })?;
        Ok(Conversation {
            process,
            messages,
            input,
            asked_to_stop: None,
        })
    }

    /// Sends a line to the child.
    pub(crate) fn send_line(&mut self, line: &str) {
        // If the child has ended already, its exit code says so.
        let _ = writeln!(self.input, "{line}");
    }

    /// Asks the child to finish the slice and stop. Returns whether this is the first time.
    pub(crate) fn ask_to_stop(&mut self) -> bool {
        let is_first = self.asked_to_stop.is_none();
        if is_first {
            self.asked_to_stop = Some(Instant::now());
            self.send_line(STOP_LINE);
        }
        is_first
    }

    /// Whether the child was asked to stop and has not ended for some time, for example because a signal stopped it.
    pub(crate) fn is_overdue(&self) -> bool {
        const PATIENCE: Duration = Duration::from_millis(2500);
        self.asked_to_stop
            .is_some_and(|asked| asked.elapsed() > PATIENCE)
    }
}
