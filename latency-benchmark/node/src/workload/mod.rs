//! The workloads. Each has a behaviour, the work of central, and the work of a peer.

mod duplex;
#[cfg(feature = "gossipsub")]
mod gossipsub;
mod handshakes;
mod idle;
mod request_response;
mod streams;

use std::convert::Infallible;
use std::future::Future;

use anyhow::Result;
use futures::StreamExt;
use libp2p::Swarm;
use libp2p::identity::Keypair;
use libp2p::swarm::NetworkBehaviour;
use node_kit::RequestLog;
use run_format::{Load, Part};

#[cfg(feature = "gossipsub")]
pub(crate) use self::gossipsub::Gossipsub;
pub(crate) use self::handshakes::Handshakes;
pub(crate) use self::idle::Idle;
pub use self::request_response::{Echo, RequestResponse, ask};
pub(crate) use self::streams::{CentralStreams, Streams, open};
use crate::peer_swarm::PeerSwarm;

/// Evaluates an expression in which `$W` is the type of the node's workload.
macro_rules! with_workload {
    ($node:expr, $W:ident => $run:expr) => {{
        use run_format::Workload;
        use $crate::workload;
        match $node.workload {
            _ if !$node.parts.is_empty() => $crate::workload::with_workload!(@ $W = workload::Streams => $run),
            Workload::RequestResponse => $crate::workload::with_workload!(@ $W = workload::RequestResponse => $run),
            Workload::Stream | Workload::Rr | Workload::Burst | Workload::Duplex => {
                $crate::workload::with_workload!(@ $W = workload::Streams => $run)
            }
            #[cfg(feature = "gossipsub")]
            Workload::Gossipsub => $crate::workload::with_workload!(@ $W = workload::Gossipsub => $run),
            #[cfg(not(feature = "gossipsub"))]
            Workload::Gossipsub => unreachable!("refused before"),
            Workload::Idle => $crate::workload::with_workload!(@ $W = workload::Idle => $run),
            Workload::Handshakes => $crate::workload::with_workload!(@ $W = workload::Handshakes => $run),
        }
    }};
    (@ $W:ident = $workload:ty => $run:expr) => {{
        type $W = $workload;
        $run
    }};
}
pub(crate) use with_workload;

/// A workload of libp2p.
pub trait NodeWorkload {
    /// The behaviour of both sides.
    type Behaviour: NetworkBehaviour;

    /// Whether central closes connections and opens them again, as part of the work.
    const CLOSES: bool = false;

    /// Makes the behaviour of a node with that key.
    fn behaviour(key: &Keypair) -> Result<Self::Behaviour>;

    /// Sends the load to the peers. Workloads that profiles can have do all `parts`, the others do `load`. It ends only with
    /// an error. If a peer may be lost, its work begins again when it is back.
    fn central(
        swarm: PeerSwarm<Self::Behaviour>,
        parts: Vec<Part>,
        load: Load,
        log: RequestLog,
    ) -> impl Future<Output = Result<Infallible>>;

    /// Serves central. It ends only with an error. By default the behaviour serves central by itself.
    fn peer(
        mut swarm: Swarm<Self::Behaviour>,
        _: Vec<Part>,
        _: Load,
    ) -> impl Future<Output = Result<Infallible>> {
        async move {
            loop {
                swarm.select_next_some().await;
            }
        }
    }
}
