//! The process that started this one, by way of standard input.

use std::{
    io::{self, BufRead},
    process,
    sync::mpsc::{Receiver, channel},
    thread,
};

/// Waits for the line that asks to stop. When standard input ends instead, the parent is gone, and this process
/// ends at once.
pub fn stop_or_end(stop_line: &'static str) -> io::Result<Receiver<()>> {
    let (sender, receiver) = channel();
    thread::Builder::new().spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if line == stop_line {
                let _ = sender.send(());
            }
        }
        process::exit(1);
    })?;
    Ok(receiver)
}
