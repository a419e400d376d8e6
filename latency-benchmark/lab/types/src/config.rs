use serde::{Deserialize, Serialize};

use crate::{Backend, Jitter, Loss, PeerHosts, Placement, ReceiveOn};

/// The largest number of peers in a lab. The peer's number is one byte of its address.
pub const MAX_PEERS: usize = 250;

/// The network around the nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabConfig {
    pub backend: Backend,
    pub loss_percent: Option<Loss>,
    pub jitter_ms: Option<Jitter>,
    pub congestion_control: String,
    /// Absent in older files.
    #[serde(default)]
    pub receive_on: ReceiveOn,
    pub placement: Placement,
    /// Then there is no lab, and nothing is delayed. Absent where peers run on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_hosts: Option<PeerHosts>,
}
