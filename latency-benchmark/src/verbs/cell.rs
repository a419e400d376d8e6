//! `cell`, which the sweep starts: a task comes in, lines of what happens go out.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use super::stdin;
use crate::{
    cell::{self, CellTask},
    failure::Failure,
};

pub(crate) fn run() -> Result<ExitCode, Failure> {
    let task: CellTask = stdin::task()?;
    // From here on in a process of its own inside the lab's namespaces, still of one thread.
    let inside = lab::enter()?;
    let stop = stdin::stop_or_end();
    cell::run(inside, &task, &stop, |told| {
        let mut line = serde_json::to_vec(told)?;
        line.push(b'\n');
        Ok(io::stdout().write_all(&line)?)
    })?;
    Ok(ExitCode::SUCCESS)
}
