//! The process that started this one, by way of standard input.

use std::{
    io::{self, BufRead},
    process,
    sync::mpsc::{Receiver, channel},
    thread,
};

/// Waits for the line that asks to stop. When standard input ends instead, the parent is gone, and this process
/// ends at once.
pub fn stop_or_end(stop_line: &'static str) -> Receiver<()> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if line == stop_line {
                let _ = sender.send(());
            }
        }
        process::exit(1);
    });
    receiver
}
