//! The lab by itself, for people and for its own tests.

use std::process::{Command, ExitCode};

use clap::{Args, Parser, Subcommand};
use lab::{Backend, Cores, Jitter, LabSpec, Loss, Placement, Rtt, Topology};

/// A network between a central node and its peers on this machine.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List all that this machine can and cannot do, each with its remedy
    Preflight {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a command in central's namespace, with the peers' addresses in LAB_PEER_1 and so on
    Run(Run),
    /// Hold packets back; the other verbs start it
    #[command(hide = true)]
    DelayLine,
}

#[derive(Args)]
struct Run {
    /// How many peers
    #[arg(long, default_value_t = 1)]
    peers: usize,
    /// Round-trip time of every link in milliseconds, with decimals
    #[arg(long, default_value = "0", allow_hyphen_values = true)]
    rtt: Rtt,
    /// What delays the packets: auto, netem or nfqueue
    #[arg(long, default_value_t = Backend::Auto)]
    delay: Backend,
    /// Packets lost in each direction, such as 0.1% (netem only)
    #[arg(long)]
    loss: Option<Loss>,
    /// How far the delay of each direction strays, such as 1ms (netem only)
    #[arg(long)]
    jitter: Option<Jitter>,
    /// TCP congestion control
    #[arg(long, default_value = "cubic")]
    congestion_control: String,
    /// Central's core [default: the first]
    #[arg(long)]
    central_core: Option<usize>,
    /// The cores of the peers and the delay line, such as 1,4-7 [default: all others]
    #[arg(long)]
    peer_cores: Option<Cores>,
    /// Run this by a shell in every peer's namespace meanwhile, with the peer's number in LAB_PEER
    #[arg(long, value_name = "COMMAND")]
    peer_command: Option<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn main() -> ExitCode {
    match dispatch(Cli::parse().verb) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(verb: Verb) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::Preflight { json } => preflight(json),
        Verb::Run(run) => run.run(),
        Verb::DelayLine => {
            lab::delay_line::run()?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn preflight(json: bool) -> anyhow::Result<ExitCode> {
    let preflight = lab::preflight::preflight(&lab::enter());
    if json {
        println!("{}", serde_json::to_string_pretty(&preflight)?);
    } else {
        println!("{preflight}");
    }
    Ok(ExitCode::from(u8::from(!preflight.can_run_any())))
}

impl Run {
    fn run(self) -> anyhow::Result<ExitCode> {
        let topology = Topology::of_this_process()?;
        let placement = Placement::choose(&topology, self.central_core, self.peer_cores)?;
        let spec = LabSpec {
            rtt: self.rtt,
            backend: self.delay,
            loss: self.loss,
            jitter: self.jitter,
            congestion_control: self.congestion_control,
            ..LabSpec::new(self.peers, placement)
        };
        let (program, arguments) = self.command.split_first().expect("clap requires one");
        let mut command = Command::new(program);
        command.args(arguments);
        let code = lab::run::run(lab::enter()?, spec, command, self.peer_command.as_deref())?;
        Ok(ExitCode::from(code))
    }
}
