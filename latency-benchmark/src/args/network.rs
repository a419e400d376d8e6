//! The network around the nodes.

use anyhow::anyhow;
use clap::Args;
use lab::{Backend, Cores, Jitter, Loss, Placement, Rtt, Topology};

use crate::{
    config::LabConfig,
    failure::{Failure, bad_input},
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

    /// The same for links of these round trips, if they can be had.
    pub(crate) fn checked(&self, rtts: &[Rtt]) -> Result<LabConfig, Failure> {
        let network = self.config()?;
        if network.backend == Backend::Nfqueue
            && (network.loss_percent.is_some() || network.jitter_ms.is_some())
        {
            return Err(bad_input(anyhow!(
                "--delay nfqueue: the delay line only delays; --loss and --jitter need netem (accepted: --delay netem)"
            )));
        }
        if let Some(jitter) = network.jitter_ms
            && let Some(rtt) = rtts.iter().find(|rtt| rtt.one_way() < jitter.duration())
        {
            return Err(bad_input(anyhow!(
                "--jitter {jitter}: it is more than half of the round trip of {rtt} ms"
            )));
        }
        Ok(network)
    }
}
