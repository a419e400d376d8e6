//! What the nodes do with each other. Each workload is a behaviour, what central does with it, and
//! what a peer does.

mod gossipsub;
mod idle;
mod request_response;
mod rr;
mod stream;

use std::future::Future;

use anyhow::Result;
use libp2p::{Swarm, identity::Keypair, swarm::NetworkBehaviour};

#[cfg(feature = "planted")]
pub(super) use self::request_response::{Echo, ask};
pub(super) use self::{
    gossipsub::Gossipsub, idle::Idle, request_response::RequestResponse, rr::Rr,
    rr::open as open_rr, stream::Stream,
};
use super::linked::Linked;
use crate::{config::Load, observe::requests::RequestLog};

pub(super) trait Workload {
    type Behaviour: NetworkBehaviour;

    fn behaviour(key: &Keypair) -> Result<Self::Behaviour>;

    /// Plants a fault, where there is a place for one.
    #[cfg(feature = "planted")]
    fn plant(_: &mut Self::Behaviour, _: Option<crate::plant::Plant>) {}

    /// Works the peers until it fails; it never ends otherwise. A peer that is lost, where that is
    /// allowed, gets its work again when it is back.
    fn central(
        swarm: Linked<Self::Behaviour>,
        load: Load,
        log: RequestLog,
    ) -> impl Future<Output = Result<std::convert::Infallible>>;

    /// Serves central until it fails; it never ends otherwise.
    fn peer(
        swarm: Swarm<Self::Behaviour>,
        load: Load,
    ) -> impl Future<Output = Result<std::convert::Infallible>>;
}
