//! The process that started this one. It reads messages from standard output, and gives the line that asks to stop.

use std::{
    cell::Cell,
    io::{self, Write},
    sync::mpsc::{Receiver, TryRecvError},
};

use anyhow::Result;
use program::lines_or_end;
use run_format::protocol::{NodeMessage, STOP_LINE, TURN_LINE};
use serde::Serialize;

pub(crate) struct Parent {
    lines: Receiver<&'static str>,
    stops: Cell<bool>,
}

impl Parent {
    /// To be called when the task has been read.
    pub(crate) fn new() -> Result<Parent> {
        Ok(Parent {
            lines: lines_or_end([STOP_LINE, TURN_LINE])?,
            stops: Cell::new(false),
        })
    }

    pub(crate) fn report(&self, message: &NodeMessage) {
        print_line(message);
    }

    /// Whether it asks to finish the slice and stop.
    pub(crate) fn asks_to_stop(&self) -> bool {
        let stops = match self.lines.try_recv() {
            Ok(line) => line == STOP_LINE,
            Err(error) => error == TryRecvError::Disconnected,
        };
        self.stops.set(self.stops.get() || stops);
        self.stops.get()
    }

    /// Waits for a turn of the block, which the process may be paused for. Returns false if it is to stop instead.
    pub(crate) fn has_turn(&self, block: u32) -> bool {
        self.report(&NodeMessage::AsksForTurn(block));
        let line = self.lines.recv();
        self.stops.set(line != Ok(TURN_LINE));
        !self.stops.get()
    }
}

pub(crate) fn print_line(message: &impl Serialize) {
    let line = serde_json::to_string(message).expect("it is plain data");
    // A parent that does not read any more has ended this process, or is about to.
    let _ = writeln!(io::stdout(), "{line}");
}
