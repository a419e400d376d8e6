//! How the program ends when something is wrong.

use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

use anyhow::Error;

/// An error and the exit code it deserves.
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) code: u8,
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure {
            error: error.into(),
            code: 1,
        }
    }
}

pub(crate) fn bad_input(error: impl Into<Error>) -> Failure {
    Failure {
        error: error.into(),
        code: 2,
    }
}

/// Errors are one line, whatever they are made of.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How a process ended, as what one says after its name.
pub(crate) fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The last line of what a process said on standard error.
pub(crate) fn last_words(text: &str) -> String {
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(
        || "it said nothing".to_owned(),
        |line| one_line(line.trim_start_matches("error: ")),
    )
}
