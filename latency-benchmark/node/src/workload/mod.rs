//! What the nodes do with each other. Each workload is a behaviour, what central does with it, and what a peer does.

#[cfg(feature = "gossipsub")]
mod gossipsub;
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
use run_format::config::Load;

#[cfg(feature = "gossipsub")]
pub(crate) use self::gossipsub::Gossipsub;
pub(crate) use self::idle::Idle;
pub(crate) use self::one_stream::{OneStream, Rr, Stream, open};
pub use self::request_response::{Echo, RequestResponse, ask};
use crate::linked::Linked;

/// A workload.
pub trait NodeWorkload {
    /// What both sides speak.
    type Behaviour: NetworkBehaviour;

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
