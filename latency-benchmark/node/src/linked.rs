//! Central's swarm and the links to its peers. Where a lost link is a fault, losing one is an error;
//! where peers come and go, it is dialled until it is back.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use anyhow::Result;
use futures::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use libp2p::{
    Multiaddr, PeerId, Swarm,
    swarm::{NetworkBehaviour, SwarmEvent},
};
use tokio::time::sleep;

use node_kit::ConnectionCounts;

use crate::swarm;

/// What becomes of a link that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnLoss {
    /// The run is over.
    Fail,
    /// The peer is dialled again, for as long as it takes.
    Redial,
}

/// A swarm that knows its peers by their numbers.
pub struct Linked<B: NetworkBehaviour> {
    swarm: Swarm<B>,
    peers: Vec<LinkedPeer>,
    links: Arc<ConnectionCounts>,
    on_loss: OnLoss,
    /// Each ends with the number of a peer to be dialled again.
    waits: FuturesUnordered<BoxFuture<'static, usize>>,
}

struct LinkedPeer {
    id: PeerId,
    address: Multiaddr,
    connections: u32,
    /// How often it was dialled since it was lost.
    attempts: u32,
}

#[derive(Debug)]
pub(crate) enum LinkEvent<E> {
    Behaviour(E),
    /// The last connection to this peer is gone.
    Lost(usize),
    /// There is one again.
    Back(usize),
}

impl<B: NetworkBehaviour> Linked<B> {
    /// A swarm that has one connection to each of the peers, which are known by their order from here on.
    pub(crate) fn new(
        swarm: Swarm<B>,
        peers: Vec<(PeerId, Multiaddr)>,
        links: Arc<ConnectionCounts>,
        on_loss: OnLoss,
    ) -> Self {
        let peer = |(id, address)| LinkedPeer {
            id,
            address,
            connections: 1,
            attempts: 0,
        };
        Linked {
            swarm,
            peers: peers.into_iter().map(peer).collect(),
            links,
            on_loss,
            waits: FuturesUnordered::new(),
        }
    }

    pub(crate) fn behaviour(&self) -> &B {
        self.swarm.behaviour()
    }

    pub(crate) fn behaviour_mut(&mut self) -> &mut B {
        self.swarm.behaviour_mut()
    }

    /// How many peers there are, linked or not.
    pub(crate) fn peers(&self) -> usize {
        self.peers.len()
    }

    pub(crate) fn peer(&self, number: usize) -> PeerId {
        self.peers[number].id
    }

    pub(crate) fn number(&self, id: &PeerId) -> Option<usize> {
        self.peers.iter().position(|peer| peer.id == *id)
    }

    pub(crate) fn is_linked(&self, number: usize) -> bool {
        self.peers[number].connections > 0
    }

    /// Whether links may be lost, and what went over them with them.
    pub(crate) fn forgives(&self) -> bool {
        self.on_loss == OnLoss::Redial
    }

    /// Has a peer's connections closed, and the peer dialled again.
    pub(crate) fn relink(&mut self, number: usize) {
        // Of one that is not connected there is nothing to close.
        let _ = self.swarm.disconnect_peer_id(self.peers[number].id);
    }

    /// The next thing to react to. Nothing is lost if this is dropped before.
    pub(crate) async fn next(&mut self) -> Result<LinkEvent<B::ToSwarm>> {
        loop {
            let event = poll_fn(|cx| self.poll_event(cx)).await;
            if let Some(seen) = self.see(event)? {
                return Ok(seen);
            }
        }
    }

    /// Dials whoever it is the time for before it looks at the swarm, which may be busy for long.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<SwarmEvent<B::ToSwarm>> {
        while let Poll::Ready(Some(number)) = self.waits.poll_next_unpin(cx) {
            self.dial(number);
        }
        self.swarm.select_next_some().poll_unpin(cx)
    }

    fn see(&mut self, event: SwarmEvent<B::ToSwarm>) -> Result<Option<LinkEvent<B::ToSwarm>>> {
        swarm::count(&event, &self.links);
        if self.on_loss == OnLoss::Fail {
            swarm::refuse_loss(&event)?;
        }
        Ok(match event {
            SwarmEvent::Behaviour(event) => Some(LinkEvent::Behaviour(event)),
            SwarmEvent::ConnectionEstablished {
                peer_id,
                num_established,
                ..
            } => self.opened(&peer_id, num_established.get()),
            SwarmEvent::ConnectionClosed {
                peer_id,
                num_established,
                ..
            } => self.closed(&peer_id, num_established),
            SwarmEvent::OutgoingConnectionError {
                peer_id: Some(id), ..
            } => {
                if let Some(number) = self.number(&id) {
                    self.dial_later(number);
                }
                None
            }
            _ => None,
        })
    }

    fn opened<E>(&mut self, id: &PeerId, connections: u32) -> Option<LinkEvent<E>> {
        let number = self.number(id)?;
        let peer = &mut self.peers[number];
        let is_back = peer.connections == 0;
        peer.connections = connections;
        peer.attempts = 0;
        is_back.then_some(LinkEvent::Back(number))
    }

    fn closed<E>(&mut self, id: &PeerId, connections: u32) -> Option<LinkEvent<E>> {
        let number = self.number(id)?;
        self.peers[number].connections = connections;
        if connections > 0 {
            return None;
        }
        self.dial_later(number);
        Some(LinkEvent::Lost(number))
    }

    /// After a while that doubles each time: who starts again soon is found soon, and who is gone for
    /// hours is not dialled all the time.
    fn dial_later(&mut self, number: usize) {
        const FIRST: Duration = Duration::from_millis(50);
        const LONGEST: Duration = Duration::from_secs(5);
        const MOST_DOUBLINGS: u32 = 10;
        let peer = &mut self.peers[number];
        if peer.connections > 0 {
            return;
        }
        let wait = FIRST * 2u32.pow(peer.attempts.min(MOST_DOUBLINGS));
        peer.attempts += 1;
        let wait = sleep(wait.min(LONGEST));
        self.waits.push(
            async move {
                wait.await;
                number
            }
            .boxed(),
        );
    }

    fn dial(&mut self, number: usize) {
        let peer = &self.peers[number];
        if peer.connections > 0 {
            return;
        }
        match self.swarm.dial(peer.address.clone()) {
            Ok(()) => self.links.dialled(),
            Err(_) => self.dial_later(number),
        }
    }
}
