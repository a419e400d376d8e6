//! How a program ends when something is wrong.

use std::{
    os::unix::process::ExitStatusExt,
    process::{ExitCode, ExitStatus},
};

use anyhow::{Error, anyhow};

use crate::output::{lost, say};

/// An error, and the exit code that it leads to.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong, with its causes.
    pub error: Error,
    /// 2 for wrong input, else 1.
    pub code: u8,
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure {
            error: error.into(),
            code: 1,
        }
    }
}

/// Wrong input, before which nothing was written.
pub fn bad_input(error: impl Into<Error>) -> Failure {
    Failure {
        error: error.into(),
        code: 2,
    }
}

/// Ends `main`: an error becomes one line on standard error. Success without all of its output is none.
pub fn end(result: Result<ExitCode, Failure>) -> ExitCode {
    let result = match (result, lost()) {
        (Ok(code), Some(error)) if code == ExitCode::SUCCESS => {
            Err(anyhow!("standard output: {error}").into())
        }
        (result, _) => result,
    };
    result.unwrap_or_else(|Failure { error, code }| {
        say(format!("error: {}", one_line(&format!("{error:#}"))));
        ExitCode::from(code)
    })
}

/// The same text without line breaks.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How a process ended, to be put after its name.
pub fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The last line that a process wrote to standard error.
pub fn last_words(text: &str) -> String {
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(
        || "it printed no error".to_owned(),
        |line| one_line(line.trim_start_matches("error: ")),
    )
}
