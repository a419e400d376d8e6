//! The network around the nodes.

use anyhow::Context;
use clap::Args;
use lab::{LabSpec, Topology, can_receive_on_receiver, check_congestion_control};
use program::{Failure, bad_input, reject};
use run_format::config::LabConfig;
use run_format::network::{Backend, Cores, ReceiveOn, Rtt, jitter, loss};

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
#[command(next_help_heading = "Network and cores")]
pub(crate) struct NetworkArgs {
    /// What delays the packets
    #[arg(long, value_enum, value_name = "BACKEND", default_value_t)]
    pub(crate) delay: Backend,
    /// Packets lost in each direction, such as 0.1% (netem only)
    #[arg(long, value_name = "PERCENT", value_parser = loss)]
    pub(crate) loss: Option<f64>,
    /// Largest random deviation of the delay in each direction, such as 1ms (netem only)
    #[arg(long, value_name = "TIME", value_parser = jitter)]
    pub(crate) jitter: Option<Rtt>,
    /// TCP congestion control
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub(crate) congestion_control: String,
    /// Core on which the kernel processes received packets
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
    /// For cells with these numbers of peers and round trips, whose central has so many workers, if there can be labs of
    /// them.
    pub(crate) fn config(
        &self,
        peers: &[usize],
        rtts: &[Rtt],
        workers: usize,
    ) -> Result<LabConfig, Failure> {
        if self.receive_on == ReceiveOn::Receiver && !can_receive_on_receiver() {
            reject!(
                "--receive-on receiver: this kernel cannot steer packets; it needs Linux 6.3 or newer with CONFIG_RPS (accepted: --receive-on sender)"
            );
        }
        check_congestion_control(&self.congestion_control)
            .context("--congestion-control")
            .map_err(bad_input)?;
        let (own, others) = (self.central_core.clone(), self.peer_cores.clone());
        if let Some(cores) = own.as_ref().filter(|cores| cores.count() > workers) {
            reject!(
                "--central-core {cores}: there is one core for each worker (accepted: --workers {})",
                cores.count()
            );
        }
        let placement = Topology::of_this_process()?.place(workers, own, others);
        let network = LabConfig {
            backend: self.delay,
            loss_percent: self.loss,
            jitter_ms: self.jitter,
            congestion_control: self.congestion_control.clone(),
            receive_on: self.receive_on,
            placement: placement.map_err(bad_input)?,
            peer_hosts: None,
        };
        for peers in peers {
            for rtt in rtts {
                let spec = LabSpec {
                    peers: *peers,
                    rtt: *rtt,
                    network: network.clone(),
                };
                spec.check().map_err(bad_input)?;
            }
        }
        Ok(network)
    }
}
