//! Printing. The program goes on if the reader of its output goes away or the device is full.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;
use std::time::Duration;

/// The first error of standard output. A reader that went away is no error: it has read enough.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Prints to standard output, and ends the line. [`exit_main`](crate::exit_main) reports what could not be written.
pub fn print_line(text: impl Display) {
    note(writeln!(io::stdout(), "{}", printable(&text.to_string())));
}

/// Writes text to standard output unchanged, for another program to read.
pub fn print_raw(text: &str) {
    let mut stdout = io::stdout();
    let written = stdout.write_all(text.as_bytes());
    note(written.and_then(|()| stdout.flush()));
}

/// Prints to standard error, and ends the line. There is nowhere to say that it could not be written.
pub fn eprint_line(text: impl Display) {
    let _ = writeln!(io::stderr(), "{}", printable(&text.to_string()));
}

/// Escapes what would move the cursor, change colours, or change the direction of the text.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_command = |letter: char| {
        (letter.is_control() && !matches!(letter, '\n' | '\t'))
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_command) {
        return text.into();
    }
    let escaped = text.chars().map(|letter| match is_command(letter) {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    });
    escaped.collect::<String>().into()
}

/// A duration in its largest units: "42 s", "3 min 5 s", "7 h 12 min".
pub fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes if minutes < 60 => format!("{minutes} min {} s", seconds % 60),
        minutes => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

pub(crate) fn note(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        let _ = LOST.set(error);
    }
}

/// The reason why some output was lost, if it was.
pub(crate) fn lost() -> Option<&'static io::Error> {
    LOST.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_commands_no_terminal() {
        assert_eq!(printable("µs, 2 %\tand\nmore"), "µs, 2 %\tand\nmore");
        assert_eq!(
            printable("\u{1b}[2Jgone\r\u{9b}1m\u{202e}x"),
            "\\u{1b}[2Jgone\\r\\u{9b}1m\\u{202e}x"
        );
    }
}
