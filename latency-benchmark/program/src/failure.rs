//! Ends a program when something is wrong.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

use anyhow::{Error, anyhow};

use crate::output::{eprint_line, lost};

/// An error, and the exit code that it leads to.
#[derive(Debug)]
pub struct Failure {
    /// The error with its causes.
    pub error: Error,
    /// 2 for wrong input, 130 after an interrupt, else 1.
    pub code: u8,
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        Failure { error, code: 1 }
    }
}

/// A failure by wrong input. Nothing may have been written before it.
pub fn bad_input(error: impl Into<Error>) -> Failure {
    let error = error.into();
    Failure { error, code: 2 }
}

/// Returns that the input is wrong, with a message as [`format!`] takes it.
#[macro_export]
macro_rules! reject {
    ($($message:tt)*) => {
        return Err($crate::bad_input(anyhow::anyhow!($($message)*)))
    };
}

/// Ends `main`. An error becomes one line on standard error. If output was lost, the program has failed.
pub fn exit_main(result: Result<ExitCode, Failure>) -> ExitCode {
    let result = match (result, lost()) {
        (Ok(code), Some(error)) if code == ExitCode::SUCCESS => {
            Err(anyhow!("standard output: {error}").into())
        }
        (result, _) => result,
    };
    result.unwrap_or_else(|Failure { error, code }| {
        eprint_line(format!("error: {}", in_one_line(&error)));
        ExitCode::from(code)
    })
}

/// An error with its causes, in one line.
pub fn in_one_line(error: &Error) -> String {
    one_line(&format!("{error:#}"))
}

/// Replaces line breaks by spaces.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The exit code that a shell would have for the same status: 128 and the number of the signal that killed the process.
pub fn exit_code(status: ExitStatus) -> u8 {
    let after_signal = || status.signal().map(|signal| 128 + signal);
    let code = status.code().or_else(after_signal);
    code.and_then(|code| code.try_into().ok()).unwrap_or(1)
}

/// Says how a process ended. The text follows its name.
pub fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        // A shell and the supervisor of a lab pass the signal of their child on like this.
        (Some(code @ 129..=159), _) => format!("was killed by signal {}", code - 128),
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Says the same as [`how_it_ended`], followed by the last line of the errors if there is one.
pub fn how_it_ended_and_why(status: ExitStatus, errors: &str) -> String {
    let words = last_words(errors).map_or_else(String::new, |words| format!(": {words}"));
    how_it_ended(status) + &words
}

/// The line of a process's errors that says why it failed: the last one, or after a panic the panic's message.
pub fn last_words(errors: &str) -> Option<String> {
    let mut lines = errors.lines().filter(|line| !line.trim().is_empty());
    let is_before = |line: &&str| !line.contains(" panicked at ");
    let mut from_panic = lines.clone().skip_while(is_before);
    let last = from_panic.nth(1).or_else(|| lines.next_back())?;
    Some(one_line(last.trim_start_matches("error: ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_the_reason() {
        let panic =
            "thread 'main' (2) panicked at a.rs:1:2:\nno thread: Os { code: 11 }\nnote: run with\n";
        for (errors, words) in [
            ("\n \n", None),
            ("warning: x\nerror: a  b\n\n", Some("a b")),
            (panic, Some("no thread: Os { code: 11 }")),
        ] {
            assert_eq!(last_words(errors).as_deref(), words, "{errors}");
        }
        let killed = how_it_ended_and_why(ExitStatus::from_raw(9), "");
        assert_eq!(killed, "was killed by signal 9");
        let passed_on = how_it_ended_and_why(ExitStatus::from_raw(137 << 8), "");
        assert_eq!(passed_on, "was killed by signal 9");
        let failed = how_it_ended_and_why(ExitStatus::from_raw(1 << 8), "error: x\n");
        assert_eq!(failed, "ended with exit code 1: x");
    }
}
