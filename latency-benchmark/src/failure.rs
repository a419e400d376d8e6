//! How the program ends when something is wrong.

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
