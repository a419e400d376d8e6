//! The network between the nodes: that of a lab, or the one to peers on other hosts.

use std::fs;
use std::net::ToSocketAddrs;

use anyhow::Context;
use clap::Args;
use lab::{LabSpec, Topology, can_receive_on_receiver, check_congestion_control};
use program::{Failure, bad_input, reject};
use run_format::{Backend, Cores, LabConfig, PeerHost, PeerHosts, ReceiveOn, Rtt, jitter, loss};

#[derive(Args, Clone, Debug)]
pub(crate) struct RttArg {
    /// Round-trip time of every link in ms, with decimals
    #[arg(long, value_name = "MS", default_value = "0")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) rtt: Rtt,
}

/// The network between the nodes, without its round-trip time.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Network and cores")]
pub(crate) struct NetworkArgs {
    /// What delays the packets
    #[arg(long, value_enum, value_name = "BACKEND", default_value_t)]
    delay: Backend,
    /// Packets lost in each direction, such as 0.1% (netem only)
    #[arg(long, value_name = "PERCENT", value_parser = loss)]
    loss: Option<f64>,
    /// Largest random deviation of the delay in each direction, such as 1ms (netem only)
    #[arg(long, value_name = "TIME", value_parser = jitter)]
    jitter: Option<Rtt>,
    /// TCP congestion control
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    congestion_control: String,
    /// Core on which the kernel processes received packets
    #[arg(long, value_enum, value_name = "WHERE", default_value = "sender")]
    receive_on: ReceiveOn,
    /// Central's cores, one for each worker, such as 2 or 2-5 [default: the first]
    #[arg(long, value_name = "CORES")]
    central_core: Option<Cores>,
}

impl NetworkArgs {
    /// The configuration of labs for cells with these numbers of peers and round trips, and for a central with this number of
    /// workers. Refuses what no lab can be.
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
        let known = check_congestion_control(&self.congestion_control);
        known.context("--congestion-control").map_err(bad_input)?;
        let asked = self.central_core.as_ref();
        if let Some(cores) = asked.filter(|cores| cores.count() > workers) {
            reject!(
                "--central-core {cores}: there is one core for each worker (accepted: --workers {})",
                cores.count()
            );
        }
        let placement = Topology::for_this_process()?.place(workers, asked.cloned());
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

#[derive(Args, Clone, Debug)]
pub(crate) struct HostArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// Run each peer on one of these hosts, over the real network, instead of on this machine. HOST=ADDRESS: dial this
    /// address. The node program must have the same path on every host
    #[arg(long, help_heading = "Peers on other hosts", value_name = "HOST,HOST", value_delimiter = ',', conflicts_with_all = ["rtt", "delay", "loss", "jitter", "congestion_control", "receive_on"])]
    peer_hosts: Vec<String>,
    /// Command that runs a program on {host}; words are split at spaces, quotes are not understood
    #[arg(long, value_name = "COMMAND", requires = "peer_hosts")]
    #[arg(help_heading = "Peers on other hosts")]
    #[arg(default_value = "ssh -oBatchMode=yes {host}")]
    peer_command: String,
}

impl HostArgs {
    /// The number of hosts. 0 for a lab.
    pub(crate) fn count(&self) -> usize {
        self.peer_hosts.len()
    }

    /// The network for these numbers of peers, and in a lab for these round trips.
    pub(crate) fn network(
        &self,
        peers: &[usize],
        rtts: &[Rtt],
        workers: usize,
    ) -> Result<LabConfig, Failure> {
        let lab = self.network.config(peers, rtts, workers)?;
        let count = self.count();
        if count == 0 {
            return Ok(lab);
        }
        if let Some(peers) = peers.iter().find(|peers| **peers > count) {
            reject!("--peers {peers}: --peer-hosts has fewer hosts (accepted: 1 to {count})");
        }
        let system = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
        let words = self.peer_command.split_whitespace();
        let hosts = self.peer_hosts.iter().map(|text| parse_host(text));
        Ok(LabConfig {
            congestion_control: system.unwrap_or_default().trim().to_owned(),
            peer_hosts: Some(PeerHosts {
                command: words.map(str::to_owned).collect(),
                hosts: hosts.collect::<Result<_, _>>()?,
            }),
            ..lab
        })
    }
}

/// Reads HOST=ADDRESS or HOST. As with ssh, the name may be ACCOUNT@HOST.
fn parse_host(text: &str) -> Result<PeerHost, Failure> {
    let (name, given) = text.split_once('=').unwrap_or((text, ""));
    let own = name.rsplit('@').next().unwrap_or_default();
    let address = if given.is_empty() { own } else { given };
    let found = (address, 0).to_socket_addrs();
    match found.ok().and_then(|mut found| found.next()) {
        Some(found) => Ok(PeerHost {
            name: name.to_owned(),
            address: found.ip(),
        }),
        None => reject!(
            "--peer-hosts {text}: this machine knows no address of {address:?} (accepted: HOST or HOST=ADDRESS)"
        ),
    }
}
