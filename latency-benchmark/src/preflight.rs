//! `preflight`

use std::process::ExitCode;

use clap::Args;
use lab::preflight::PreflightStatus;
use program::{Failure, print};

#[derive(Args)]
pub(crate) struct PreflightArgs {
    /// List only problems, one per line
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
            .filter(|finding| finding.status != PreflightStatus::Ok)
        {
            let consequence = finding.consequence.as_deref().unwrap_or_default();
            print(format!("{}: {}: {consequence}", finding.name, finding.seen));
        }
    } else {
        print(&preflight);
    }
    Ok(ExitCode::from(u8::from(!preflight.can_run_rtt_zero)))
}
