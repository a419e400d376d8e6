//! What the nodes do with each other. Each workload is a behaviour, what central does with it, and
//! what a peer does.

mod gossipsub;
mod idle;
mod request_response;
mod stream;

use std::future::Future;

use anyhow::Result;
use libp2p::{PeerId, Swarm, identity::Keypair, swarm::NetworkBehaviour};

pub(super) use self::{
    gossipsub::Gossipsub, idle::Idle, request_response::RequestResponse, stream::Stream,
};
use crate::{config::Load, observe::requests::RequestLog};

pub(super) trait Workload {
    type Behaviour: NetworkBehaviour;

    fn behaviour(key: &Keypair) -> Result<Self::Behaviour>;

    /// Works the peers until it fails; it never ends otherwise.
    fn central(
        swarm: Swarm<Self::Behaviour>,
        peers: Vec<PeerId>,
        load: Load,
        log: RequestLog,
    ) -> impl Future<Output = Result<std::convert::Infallible>>;

    /// Serves central until it fails; it never ends otherwise.
    fn peer(
        swarm: Swarm<Self::Behaviour>,
        load: Load,
    ) -> impl Future<Output = Result<std::convert::Infallible>>;
}
