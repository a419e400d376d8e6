//! The verbs `lab`, `delay-line` and `preflight`.

use std::process::Command;

use clap::Args;
use lab::LabSpec;
use lab::preflight::{self, PreflightFinding, PreflightStatus};
use program::{Failure, print_line};

use crate::args::{NetworkArgs, RttArg};

#[derive(Args)]
#[command(after_help = "Examples:
  latency-benchmark lab --peers 3 --rtt 50 -- sh -c 'ping -U -c 3 $LAB_PEER_1'
  latency-benchmark lab --rtt 20 --peer-command 'iperf3 -s' -- sh -c 'iperf3 -c $LAB_PEER_1'

Exit code: that of the command.")]
pub(crate) struct LabArgs {
    /// Number of peers
    #[arg(long, default_value_t = 1)]
    peers: usize,
    #[command(flatten)]
    rtt: RttArg,
    #[command(flatten)]
    network: NetworkArgs,
    /// Shell command to run in every peer's namespace at the same time, with the peer's number in LAB_PEER
    #[arg(long, value_name = "COMMAND")]
    peer_command: Option<String>,
    /// The command and its arguments; the peers' addresses are in LAB_PEER_1 and so on
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: LabArgs) -> Result<u8, Failure> {
    let (peers, rtt) = (args.peers, args.rtt.rtt);
    let network = args.network.config(&[peers], &[rtt], 1)?;
    let spec = LabSpec {
        peers,
        rtt,
        network,
    };
    let mut words = args.command.iter();
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words);
    let peer_command = args.peer_command.as_deref();
    Ok(lab::run_command::run_in_lab(
        lab::enter()?,
        spec,
        command,
        peer_command,
    )?)
}

pub(crate) fn delay_line() -> Result<u8, Failure> {
    lab::delay_line::run()?;
    Ok(0)
}

#[derive(Args)]
pub(crate) struct PreflightArgs {
    /// List only problems, one per line
    #[arg(long)]
    brief: bool,
}

/// Lists what this machine can and cannot do. Fails only if no cell could run.
pub(crate) fn preflight(args: &PreflightArgs) -> Result<u8, Failure> {
    let preflight = preflight::preflight(&lab::enter());
    if args.brief {
        let is_problem = |finding: &&PreflightFinding| finding.status != PreflightStatus::Ok;
        for finding in preflight.findings.iter().filter(is_problem) {
            let consequence = finding.consequence.as_deref().unwrap_or_default();
            print_line(format!("{}: {}: {consequence}", finding.name, finding.seen));
        }
    } else {
        print_line(&preflight);
    }
    Ok((!preflight.can_run_rtt_zero).into())
}
