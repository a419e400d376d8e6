//! Other programs may take turns with this process on the same cores. The parent then says when this process may run.

use std::sync::mpsc::{Receiver, TryRecvError};

use run_format::{NodeMessage, TURN_LINE};

use crate::process::parent::report;

/// When this process may run.
pub(super) struct ProcessSchedule {
    /// The lines that the parent writes to standard input.
    lines: Receiver<&'static str>,
    /// Whether other programs take turns with this one.
    has_others_beside: bool,
    may_run: bool,
    is_stopped: bool,
}

impl ProcessSchedule {
    /// The schedule of a process that may run already.
    pub(super) fn new(lines: Receiver<&'static str>, has_others_beside: bool) -> ProcessSchedule {
        ProcessSchedule {
            lines,
            has_others_beside,
            may_run: true,
            is_stopped: false,
        }
    }

    pub(super) fn has_others_beside(&self) -> bool {
        self.has_others_beside
    }

    /// Whether the process may run now. It need not ask before.
    pub(super) fn may_run(&self) -> bool {
        self.may_run
    }

    /// Asks the parent whether the process may run, and waits for the answer. The process may be paused meanwhile. If the
    /// parent answers anything else, the process is to stop.
    pub(super) fn ask_to_run(&mut self, block: u32) {
        report(&NodeMessage::AsksForTurn(block));
        self.may_run = self.lines.recv() == Ok(TURN_LINE);
        self.is_stopped |= !self.may_run;
    }

    /// From now on, the process has to ask before it runs.
    pub(super) fn let_others_run(&mut self) {
        self.may_run = false;
    }

    /// Whether the parent has asked to stop.
    pub(super) fn is_stopped(&mut self) -> bool {
        self.is_stopped |= !matches!(self.lines.try_recv(), Err(TryRecvError::Empty));
        self.is_stopped
    }
}
