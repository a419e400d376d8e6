//! The process that started this one, by way of standard input.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, channel};
use std::{process, thread};

/// Waits for lines that are among those known. When standard input ends instead, the parent is gone, and this process
/// ends at once.
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
