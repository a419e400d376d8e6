//! Central's swarm and the links to its peers. Where a lost link is a fault, losing one is an error;
//! where peers come and go, it is dialled until it is back.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use anyhow::Result;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use libp2p::swarm::{NetworkBehaviour, SwarmEvent};
use libp2p::{Multiaddr, PeerId, Swarm};
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
    /// Nothing: the work closes links, and knows which. A dial that fails ends the run.
    Expect,
}

/// A swarm that knows its peers by their numbers.
pub struct Linked<B: NetworkBehaviour> {
    pub(crate) swarm: Swarm<B>,
    peers: Vec<(PeerId, Multiaddr)>,
    /// How often each was dialled since it was lost.
    attempts: Vec<u32>,
    links: Arc<ConnectionCounts>,
    on_loss: OnLoss,
    /// Each ends with the number of a peer to be dialled again.
    waits: FuturesUnordered<BoxFuture<'static, usize>>,
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
        Linked {
            swarm,
            attempts: vec![0; peers.len()],
            peers,
            links,
            on_loss,
            waits: FuturesUnordered::new(),
        }
    }

    /// How many peers there are, linked or not.
    pub(crate) fn peers(&self) -> usize {
        self.peers.len()
    }

    pub(crate) fn address(&self, number: usize) -> &Multiaddr {
        &self.peers[number].1
    }

    pub(crate) fn peer(&self, number: usize) -> PeerId {
        self.peers[number].0
    }

    pub(crate) fn number(&self, id: &PeerId) -> Option<usize> {
        self.peers.iter().position(|(peer, _)| peer == id)
    }

    pub(crate) fn is_linked(&self, number: usize) -> bool {
        self.swarm.is_connected(&self.peer(number))
    }

    /// Whether links may be lost, and what went over them with them.
    pub(crate) fn forgives(&self) -> bool {
        self.on_loss == OnLoss::Redial
    }

    /// Has a peer's connections closed.
    pub(crate) fn disconnect(&mut self, number: usize) {
        // Of one that is not connected there is nothing to close.
        let _ = self.swarm.disconnect_peer_id(self.peer(number));
    }

    /// The next thing to react to. Nothing is lost if this is dropped before.
    pub(crate) async fn next(&mut self) -> Result<LinkEvent<B::ToSwarm>> {
        loop {
            let event = poll_fn(|cx| {
                // Before the swarm is looked at, which may be busy for long.
                while let Poll::Ready(Some(number)) = self.waits.poll_next_unpin(cx) {
                    self.dial(number);
                }
                self.swarm.select_next_some().poll_unpin(cx)
            });
            let event = event.await;
            swarm::count(&event, &self.links);
            let is_closed = matches!(event, SwarmEvent::ConnectionClosed { .. });
            match self.on_loss {
                OnLoss::Redial => {}
                OnLoss::Expect if is_closed => {}
                OnLoss::Expect | OnLoss::Fail => swarm::refuse_loss(&event)?,
            }
            if let Some(seen) = self.see(event) {
                return Ok(seen);
            }
        }
    }

    fn see(&mut self, event: SwarmEvent<B::ToSwarm>) -> Option<LinkEvent<B::ToSwarm>> {
        match event {
            SwarmEvent::Behaviour(event) => Some(LinkEvent::Behaviour(event)),
            SwarmEvent::ConnectionEstablished {
                peer_id,
                num_established,
                ..
            } => {
                let number = self.number(&peer_id)?;
                self.attempts[number] = 0;
                (num_established.get() == 1).then_some(LinkEvent::Back(number))
            }
            SwarmEvent::ConnectionClosed {
                peer_id,
                num_established: 0,
                ..
            } => {
                let number = self.number(&peer_id)?;
                if self.on_loss == OnLoss::Redial {
                    self.dial_later(number);
                }
                Some(LinkEvent::Lost(number))
            }
            SwarmEvent::OutgoingConnectionError {
                peer_id: Some(id), ..
            } => {
                self.dial_later(self.number(&id)?);
                None
            }
            _ => None,
        }
    }

    /// After a while that doubles each time: who starts again soon is found soon, and who is gone for
    /// hours is not dialled all the time.
    fn dial_later(&mut self, number: usize) {
        const FIRST: Duration = Duration::from_millis(50);
        const LONGEST: Duration = Duration::from_secs(5);
        const MOST_DOUBLINGS: u32 = 10;
        if self.is_linked(number) {
            return;
        }
        let wait = FIRST * 2u32.pow(self.attempts[number].min(MOST_DOUBLINGS));
        self.attempts[number] += 1;
        let waited = sleep(wait.min(LONGEST)).map(move |()| number);
        self.waits.push(waited.boxed());
    }

    /// Dials a peer that is not linked.
    pub(crate) fn dial(&mut self, number: usize) {
        if self.is_linked(number) {
            return;
        }
        match self.swarm.dial(self.peers[number].1.clone()) {
            Ok(()) => self.links.dialled(),
            Err(_) => self.dial_later(number),
        }
    }
}
