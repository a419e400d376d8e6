use serde::{Deserialize, Serialize};

use crate::{Backend, PeerHosts, Placement, Rtt};

/// The largest number of peers in a lab. The peer's number is one byte of its address.
pub const MAX_PEERS: usize = 250;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabConfig {
    pub backend: Backend,
    pub loss_percent: Option<f64>,
    pub jitter_ms: Option<Rtt>,
    pub congestion_control: String,
    /// Absent in older files.
    #[serde(default)]
    pub receive_on: ReceiveOn,
    pub placement: Placement,
    /// Then there is no lab, and nothing is delayed. Absent where peers run on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_hosts: Option<PeerHosts>,
}

/// Where the kernel receives a packet: takes it through IP and TCP to the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ReceiveOn {
    /// On the core that sends it, as virtual links do by themselves
    #[default]
    Sender,
    /// On the receiver's core, as if both had a network card (Linux 6.3 or newer)
    Receiver,
}

/// The cores that receive packets, as masks in the form in which the kernel gave them back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveMasks {
    pub central: String,
    /// Of every peer.
    pub peers: String,
}
