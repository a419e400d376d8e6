//! `preflight`

use std::process::ExitCode;

use crate::cli::Failure;

/// Lists what this machine can and cannot do. Fails only if no cell could run.
pub(crate) fn run() -> Result<ExitCode, Failure> {
    let preflight = lab::preflight::preflight(&lab::enter());
    println!("{preflight}");
    Ok(ExitCode::from(u8::from(!preflight.can_run_any())))
}
