//! A child process that gets a task, sends messages, and can be asked to stop: all of it lines of JSON.

use std::{
    io::Write,
    process::{Child, ChildStdin},
    sync::mpsc::{Receiver, sync_channel},
    thread,
};

use anyhow::{Context, Result};
use program::{lines, say};
use run_format::protocol::STOP_LINE;
use serde::{Serialize, de::DeserializeOwned};

/// More than come before anybody looks.
const MESSAGES: usize = 1024;

pub(crate) struct Conversation<M> {
    /// Disconnected when the child has closed its output.
    pub(crate) messages: Receiver<M>,
    input: ChildStdin,
    asked_to_stop: bool,
}

impl<M: DeserializeOwned + Send + 'static> Conversation<M> {
    /// Sends the task to a child that was started with pipes.
    pub(crate) fn begin(child: &mut Child, task: &impl Serialize) -> Result<Conversation<M>> {
        let mut input = child.stdin.take().context("it has no standard input")?;
        let output = child.stdout.take().context("it has no standard output")?;
        let mut line = serde_json::to_vec(task)?;
        line.push(b'\n');
        // A child that died already is followed like any other; its end says why.
        let _ = input.write_all(&line);
        // A child that says more than is read waits.
        let (sender, messages) = sync_channel(MESSAGES);
        thread::Builder::new().spawn(move || {
            for line in lines(output) {
                match serde_json::from_str(&line) {
                    Ok(message) => drop(sender.send(message)),
                    Err(_) => say(line),
                }
            }
        })?;
        Ok(Conversation {
            messages,
            input,
            asked_to_stop: false,
        })
    }

    pub(crate) fn say(&mut self, line: &str) {
        // If the child is gone already, its end says so.
        let _ = writeln!(self.input, "{line}");
    }

    /// Asks to finish the slice and stop, unless that was asked before.
    pub(crate) fn ask_to_stop(&mut self) -> bool {
        let is_first = !std::mem::replace(&mut self.asked_to_stop, true);
        if is_first {
            self.say(STOP_LINE);
        }
        is_first
    }
}
