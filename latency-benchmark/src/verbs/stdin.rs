//! Standard input as the way by which a parent talks to the processes it started: a task in the
//! first line, then perhaps the word to stop.

use std::{
    io::{self, BufRead},
    sync::mpsc::{Receiver, channel},
    thread,
};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

use crate::cell::STOP_LINE;

/// The task.
pub(super) fn task<T: DeserializeOwned>() -> Result<T> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    serde_json::from_str(&line).context("standard input has no task in its first line")
}

/// Hears the word to stop. When standard input ends instead, whoever started this process is gone,
/// and it ends at once.
pub(super) fn stop_or_end() -> Receiver<()> {
    let (tell, told) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if line == STOP_LINE {
                let _ = tell.send(());
            }
        }
        std::process::exit(1);
    });
    told
}
