//! `lab`, and what the lab starts.

use std::process::{Command, ExitCode};

use clap::Args;
use lab::{Backend, Cores, Jitter, LabSpec, Loss, Placement, Rtt, Topology};

use crate::{
    cli::{Failure, bad_input},
    config::LabConfig,
};

/// The network around the nodes, but for its round-trip time.
#[derive(Args, Clone, Debug)]
pub(crate) struct NetworkArgs {
    /// What delays the packets: auto, netem or nfqueue
    #[arg(long, value_name = "BACKEND", default_value_t = Backend::Auto)]
    pub(crate) delay: Backend,
    /// Packets lost in each direction, such as 0.1% (netem only)
    #[arg(long, value_name = "PERCENT")]
    pub(crate) loss: Option<Loss>,
    /// How far the delay of each direction strays, such as 1ms (netem only)
    #[arg(long, value_name = "TIME")]
    pub(crate) jitter: Option<Jitter>,
    /// TCP congestion control
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub(crate) congestion_control: String,
    /// Central's core [default: the first]
    #[arg(long, value_name = "CORE")]
    pub(crate) central_core: Option<usize>,
    /// The cores of the peers and of the delay line, such as 1,4-7 [default: all others]
    #[arg(long, value_name = "CORES")]
    pub(crate) peer_cores: Option<Cores>,
}

impl NetworkArgs {
    pub(crate) fn config(&self) -> Result<LabConfig, Failure> {
        let topology = Topology::of_this_process()?;
        let placement = Placement::choose(&topology, self.central_core, self.peer_cores.clone());
        Ok(LabConfig {
            backend: self.delay,
            loss_percent: self.loss,
            jitter_ms: self.jitter,
            congestion_control: self.congestion_control.clone(),
            placement: placement.map_err(bad_input)?,
        })
    }
}

#[derive(Args)]
#[command(after_help = "Examples:
  latency-benchmark lab --peers 3 --rtt 50 -- sh -c 'ping -U -c 3 $LAB_PEER_1'
  latency-benchmark lab --rtt 20 --peer-command 'iperf3 -s' -- sh -c 'iperf3 -c $LAB_PEER_1'

Exit code: that of the command.")]
pub(crate) struct LabArgs {
    /// How many peers
    #[arg(long, default_value_t = 1)]
    peers: usize,
    /// Round-trip time of every link in milliseconds, with decimals
    #[arg(
        long,
        value_name = "MS",
        default_value = "0",
        allow_hyphen_values = true
    )]
    rtt: Rtt,
    #[command(flatten)]
    network: NetworkArgs,
    /// Run this by a shell in every peer's namespace meanwhile, with the peer's number in LAB_PEER
    #[arg(long, value_name = "COMMAND")]
    peer_command: Option<String>,
    /// The command and its arguments; the peers' addresses are in LAB_PEER_1 and so on
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: LabArgs) -> Result<ExitCode, Failure> {
    let config = args.network.config()?;
    let spec = LabSpec {
        rtt: args.rtt,
        backend: config.backend,
        loss: config.loss_percent,
        jitter: config.jitter_ms,
        congestion_control: config.congestion_control,
        ..LabSpec::new(args.peers, config.placement)
    };
    let mut words = args.command.iter();
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words);
    let code = lab::run::run(lab::enter()?, spec, command, args.peer_command.as_deref())?;
    Ok(ExitCode::from(code))
}

pub(crate) fn delay_line() -> Result<ExitCode, Failure> {
    lab::delay_line::run()?;
    Ok(ExitCode::SUCCESS)
}
