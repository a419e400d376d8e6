//! How a command ends when it does not end well.

use std::process::ExitCode;

/// What went wrong, by what the exit code says of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What was given cannot be used. Nothing was written.
    #[error("{0:#}")]
    BadInput(anyhow::Error),
    /// A stored report is not what the run gives.
    #[error("{0}")]
    Differs(String),
    /// Something broke on the way.
    #[error("{0:#}")]
    Broken(#[from] anyhow::Error),
}

impl Failure {
    /// 2 for bad input, else 1.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::BadInput(_) => ExitCode::from(2),
            Failure::Differs(_) | Failure::Broken(_) => ExitCode::from(1),
        }
    }
}

/// Marks an error as one of the input.
pub(crate) fn bad_input(error: impl Into<anyhow::Error>) -> Failure {
    Failure::BadInput(error.into())
}
