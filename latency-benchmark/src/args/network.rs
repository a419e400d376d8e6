//! The network around the nodes.

use anyhow::Context;
use clap::Args;
use lab::{MAX_PEERS, Topology, can_receive_on_receiver, check_congestion_control};
use program::{Failure, bad_input, reject};
use run_format::{
    config::LabConfig,
    network::{Backend, Cores, Jitter, Loss, ReceiveOn, Rtt},
};

/// The round-trip time of links that all have the same.
#[derive(Args, Clone, Debug)]
pub(crate) struct RttArg {
    /// Round-trip time of every link in ms, with decimals
    #[arg(
        long,
        value_name = "MS",
        default_value = "0",
        allow_hyphen_values = true
    )]
    pub(crate) rtt: Rtt,
}

/// The network around the nodes, but for its round-trip time.
#[derive(Args, Clone, Debug)]
pub(crate) struct NetworkArgs {
    /// What delays the packets
    #[arg(long, value_enum, value_name = "BACKEND", default_value_t)]
    pub(crate) delay: Backend,
    /// Packets lost in each direction, such as 0.1% (netem only)
    #[arg(long, value_name = "PERCENT")]
    pub(crate) loss: Option<Loss>,
    /// Largest random deviation of the delay in each direction, such as 1ms (netem only)
    #[arg(long, value_name = "TIME")]
    pub(crate) jitter: Option<Jitter>,
    /// TCP congestion control
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub(crate) congestion_control: String,
    /// Where the kernel does the work of receiving a packet, in both directions
    #[arg(long, value_enum, value_name = "WHERE", default_value = "sender")]
    pub(crate) receive_on: ReceiveOn,
    /// Central's cores, one for each worker, such as 2 or 2-5 [default: the first]
    #[arg(long, value_name = "CORES")]
    pub(crate) central_core: Option<Cores>,
    /// The cores of the peers and of the delay line, such as 1,4-7 [default: all others]
    #[arg(long, value_name = "CORES")]
    pub(crate) peer_cores: Option<Cores>,
}

impl NetworkArgs {
    /// For a central with so many workers.
    pub(crate) fn config(&self, workers: usize) -> Result<LabConfig, Failure> {
        if self.receive_on == ReceiveOn::Receiver && !can_receive_on_receiver() {
            reject!(
                "--receive-on receiver: this kernel cannot steer packets; it needs Linux 6.3 or newer with CONFIG_RPS (accepted: --receive-on sender)"
            );
        }
        check_congestion_control(&self.congestion_control)
            .context("--congestion-control")
            .map_err(bad_input)?;
        if let Some(cores) = self.central_core.as_ref().filter(|it| it.count() > workers) {
            reject!(
                "--central-core {cores}: there is one core for each worker (accepted: --workers {})",
                cores.count()
            );
        }
        let topology = Topology::of_this_process()?;
        let (central, peers) = (self.central_core.clone(), self.peer_cores.clone());
        let placement = topology.place(workers, central, peers);
        Ok(LabConfig {
            backend: self.delay,
            loss_percent: self.loss,
            jitter_ms: self.jitter,
            congestion_control: self.congestion_control.clone(),
            receive_on: self.receive_on,
            placement: placement.map_err(bad_input)?,
            peer_hosts: None,
        })
    }

    /// The same for links of these round trips, if the options go together.
    pub(crate) fn checked(&self, rtts: &[Rtt], workers: usize) -> Result<LabConfig, Failure> {
        let network = self.config(workers)?;
        if network.backend == Backend::Nfqueue
            && (network.loss_percent.is_some() || network.jitter_ms.is_some())
        {
            reject!(
                "--delay nfqueue: the delay line only delays; --loss and --jitter need netem (accepted: --delay netem)"
            );
        }
        if let Some(jitter) = network.jitter_ms
            && let Some(rtt) = rtts.iter().find(|rtt| rtt.one_way() < jitter.duration())
        {
            reject!(
                "--jitter {jitter}: larger than the one-way delay of cells with RTT {rtt} ms (choose a smaller --jitter, or leave that --rtt out)"
            );
        }
        Ok(network)
    }
}

/// Refuses numbers of peers that no lab can have.
pub(crate) fn peers_in_range(peers: &[usize]) -> Result<(), Failure> {
    match peers.iter().find(|peers| !(1..=MAX_PEERS).contains(*peers)) {
        None => Ok(()),
        Some(peers) => reject!("--peers {peers}: a cell has from 1 to {} peers", MAX_PEERS),
    }
}
