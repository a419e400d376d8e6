//! What the nodes do with each other. Each workload is a behaviour, what central does with it, and what a peer does.

mod burst;
mod duplex;
#[cfg(feature = "gossipsub")]
mod gossipsub;
mod handshakes;
mod idle;
mod one_stream;
mod request_response;

use std::convert::Infallible;
use std::future::Future;

use anyhow::Result;
use libp2p::Swarm;
use libp2p::identity::Keypair;
use libp2p::swarm::NetworkBehaviour;
use node_kit::RequestLog;
use run_format::Load;

pub(crate) use self::burst::Burst;
pub(crate) use self::duplex::Duplex;
#[cfg(feature = "gossipsub")]
pub(crate) use self::gossipsub::Gossipsub;
pub(crate) use self::handshakes::Handshakes;
pub(crate) use self::idle::Idle;
pub(crate) use self::one_stream::{OneStream, Rr, Stream, open};
pub use self::request_response::{Echo, RequestResponse, ask};
use crate::linked::Linked;

/// Evaluates an expression in which the type `$W` is that of a workload.
macro_rules! with_workload {
    ($workload:expr, $W:ident => $run:expr) => {{
        use run_format::Workload;
        use $crate::workload;
        match $workload {
            Workload::RequestResponse => $crate::workload::with_workload!(@ $W = workload::RequestResponse => $run),
            Workload::Stream => $crate::workload::with_workload!(@ $W = workload::Stream => $run),
            #[cfg(feature = "gossipsub")]
            Workload::Gossipsub => $crate::workload::with_workload!(@ $W = workload::Gossipsub => $run),
            #[cfg(not(feature = "gossipsub"))]
            Workload::Gossipsub => unreachable!("refused before"),
            Workload::Idle => $crate::workload::with_workload!(@ $W = workload::Idle => $run),
            Workload::Rr => $crate::workload::with_workload!(@ $W = workload::Rr => $run),
            Workload::Burst => $crate::workload::with_workload!(@ $W = workload::Burst => $run),
            Workload::Duplex => $crate::workload::with_workload!(@ $W = workload::Duplex => $run),
            Workload::Handshakes => $crate::workload::with_workload!(@ $W = workload::Handshakes => $run),
        }
    }};
    (@ $W:ident = $workload:ty => $run:expr) => {{
        type $W = $workload;
        $run
    }};
}
pub(crate) use with_workload;

/// A workload.
pub trait NodeWorkload {
    /// What both sides speak.
    type Behaviour: NetworkBehaviour;

    /// Whether central closes connections and opens them again, as part of the work.
    const CLOSES: bool = false;

    /// Makes the behaviour of a node with that key.
    fn behaviour(key: &Keypair) -> Result<Self::Behaviour>;

    /// Works the peers. It ends only with an error. A peer that is lost, where that is allowed, gets its work
    /// again when it is back.
    fn central(
        swarm: Linked<Self::Behaviour>,
        load: Load,
        log: RequestLog,
    ) -> impl Future<Output = Result<Infallible>>;

    /// Serves central. It ends only with an error.
    fn peer(swarm: Swarm<Self::Behaviour>, load: Load) -> impl Future<Output = Result<Infallible>>;
}
