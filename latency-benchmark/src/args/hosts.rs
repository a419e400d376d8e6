//! The network: in a lab, or that to peers on other hosts.

use std::fs;
use std::net::ToSocketAddrs;

use clap::Args;
use program::{Failure, reject};
use run_format::config::LabConfig;
use run_format::network::{PeerHost, PeerHosts, Rtt};

use super::network::NetworkArgs;

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
    #[arg(
        default_value = "ssh -oBatchMode=yes {host}",
        help_heading = "Peers on other hosts"
    )]
    peer_command: String,
}

impl HostArgs {
    /// 0 for a lab.
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
        let hosts = self.count();
        if hosts == 0 {
            return Ok(lab);
        }
        if let Some(peers) = peers.iter().find(|peers| **peers > hosts) {
            reject!("--peers {peers}: --peer-hosts has fewer hosts (accepted: 1 to {hosts})");
        }
        let system = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
        let words = self.peer_command.split_whitespace();
        let hosts = self.peer_hosts.iter().map(|text| host(text));
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

/// The name may be that of an account on the host, as ssh has it.
fn host(text: &str) -> Result<PeerHost, Failure> {
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
