//! The process that started this one. It reads messages from standard output, and gives the line that asks to stop.

use std::{
    io::{self, Write},
    sync::mpsc::{Receiver, TryRecvError},
};

use anyhow::Result;
use program::stop_or_end;
use run_format::protocol::{NodeMessage, STOP_LINE};
use serde::Serialize;

pub(crate) struct Parent {
    stop: Receiver<()>,
}

impl Parent {
    /// To be called when the task has been read.
    pub(crate) fn new() -> Result<Parent> {
        let stop = stop_or_end(STOP_LINE)?;
        Ok(Parent { stop })
    }

    pub(crate) fn report(&self, message: &NodeMessage) {
        print_line(message);
    }

    /// Whether it asks to finish the slice and stop.
    pub(crate) fn asks_to_stop(&self) -> bool {
        !matches!(self.stop.try_recv(), Err(TryRecvError::Empty))
    }
}

pub(crate) fn print_line(message: &impl Serialize) {
    let line = serde_json::to_string(message).expect("it is plain data");
    // A parent that does not read any more has ended this process, or is about to.
    let _ = writeln!(io::stdout(), "{line}");
}
