//! The command line of the lab, for the tests of this crate.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

use std::process::{Command, ExitCode};

use clap::{Args, Parser, Subcommand};
use lab::{LabSpec, Topology, check_congestion_control};
use program::{Failure, bad_input, print};
use run_format::{Backend, Cores, Rtt, jitter, loss};

/// A network between a central node and its peers on this machine
#[derive(Parser)]
struct LabCommandLine {
    #[command(subcommand)]
    verb: LabVerb,
}

#[derive(Subcommand)]
enum LabVerb {
    /// Check what this machine supports, and print a remedy for each problem
    Preflight {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a command in central's namespace; LAB_PEER_1, LAB_PEER_2, … hold the peers' addresses
    Run(LabRunArguments),
    /// Delay packets; `run` starts this process
    #[command(hide = true)]
    DelayLine,
}

#[derive(Args)]
struct LabRunArguments {
    /// Number of peers
    #[arg(long, default_value_t = 1)]
    peers: usize,
    /// Round-trip time of every link in milliseconds, with decimals
    #[arg(long, default_value = "0", allow_hyphen_values = true)]
    rtt: Rtt,
    /// Delay backend
    #[arg(long, value_enum, default_value_t)]
    delay: Backend,
    /// Packet loss in each direction, such as 0.1% (netem only)
    #[arg(long, value_parser = loss)]
    loss: Option<f64>,
    /// Largest deviation of the delay in each direction, such as 1ms (netem only)
    #[arg(long, value_parser = jitter)]
    jitter: Option<Rtt>,
    /// TCP congestion control
    #[arg(long, default_value = "cubic")]
    congestion_control: String,
    /// Cores of the central node, such as 2 or 2-5 [default: the first]
    #[arg(long)]
    central_core: Option<Cores>,
    /// Shell command to run in every peer's namespace at the same time; LAB_PEER holds the peer's number
    #[arg(long, value_name = "COMMAND")]
    peer_command: Option<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn main() -> ExitCode {
    program::end(match program::parse::<LabCommandLine>() {
        Ok(arguments) => dispatch(arguments.verb),
        Err(ended) => ended,
    })
}

fn dispatch(verb: LabVerb) -> Result<ExitCode, Failure> {
    match verb {
        LabVerb::Preflight { json } => preflight(json),
        LabVerb::Run(arguments) => arguments.run(),
        LabVerb::DelayLine => {
            lab::delay_line::run()?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn preflight(json: bool) -> Result<ExitCode, Failure> {
    let preflight = lab::preflight::preflight(&lab::enter());
    if json {
        print(serde_json::to_string_pretty(&preflight)?);
    } else {
        print(&preflight);
    }
    Ok(ExitCode::from(u8::from(!preflight.can_run_rtt_zero)))
}

impl LabRunArguments {
    fn run(self) -> Result<ExitCode, Failure> {
        let topology = Topology::for_this_process()?;
        let placement = topology.place(1, self.central_core).map_err(bad_input)?;
        let mut spec = LabSpec::new(self.peers, placement);
        spec.rtt = self.rtt;
        spec.network.backend = self.delay;
        spec.network.loss_percent = self.loss;
        spec.network.jitter_ms = self.jitter;
        spec.network.congestion_control = self.congestion_control;
        let (program, arguments) = self.command.split_first().expect("clap requires one");
        let mut command = Command::new(program);
        command.args(arguments);
        spec.check().map_err(bad_input)?;
        check_congestion_control(&spec.network.congestion_control).map_err(bad_input)?;
        let code = lab::run::run(lab::enter()?, spec, command, self.peer_command.as_deref())?;
        Ok(ExitCode::from(code))
    }
}
