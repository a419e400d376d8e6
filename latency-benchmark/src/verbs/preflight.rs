//! `preflight`

use std::process::ExitCode;

use clap::Args;
use lab::preflight::Status;

use crate::failure::Failure;

#[derive(Args)]
pub(crate) struct PreflightArgs {
    /// Only what is not as it should be, a line each
    #[arg(long)]
    brief: bool,
}

/// Lists what this machine can and cannot do. Fails only if no cell could run.
pub(crate) fn run(args: &PreflightArgs) -> Result<ExitCode, Failure> {
    let preflight = lab::preflight::preflight(&lab::enter());
    if args.brief {
        for finding in preflight
            .findings
            .iter()
            .filter(|finding| finding.status != Status::Ok)
        {
            let consequence = finding.consequence.as_deref().unwrap_or_default();
            println!("{}: {}: {consequence}", finding.name, finding.seen);
        }
    } else {
        println!("{preflight}");
    }
    Ok(ExitCode::from(u8::from(!preflight.can_run_any())))
}
