//! Central's swarm and its connections to the peers. A lost connection is an error, unless peers may come and go. Then the
//! peer is dialled until it is connected again.

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

/// The reaction to a lost connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnLoss {
    /// The run ends with an error.
    Fail,
    /// The peer is dialled until it is connected again.
    Redial,
    /// There is no reaction, because the workload closes connections itself. A dial that fails ends the run.
    Expect,
}

/// A swarm that knows its peers by their numbers.
pub struct PeerSwarm<B: NetworkBehaviour> {
    pub(crate) swarm: Swarm<B>,
    peers: Vec<(PeerId, Multiaddr)>,
    /// The number of dials of each peer since its connection was lost.
    attempts: Vec<u32>,
    counts: Arc<ConnectionCounts>,
    on_loss: OnLoss,
    /// Each of these waits, and ends with the number of a peer to dial again.
    waits: FuturesUnordered<BoxFuture<'static, usize>>,
}

#[derive(Debug)]
pub(crate) enum PeerEvent<E> {
    Behaviour(E),
    /// The last connection to this peer is gone.
    Lost(usize),
    /// There is a connection to this peer again.
    Back(usize),
}

impl<B: NetworkBehaviour> PeerSwarm<B> {
    /// Takes a swarm that has one connection to each of the peers. The number of a peer is its index.
    pub(crate) fn new(
        swarm: Swarm<B>,
        peers: Vec<(PeerId, Multiaddr)>,
        counts: Arc<ConnectionCounts>,
        on_loss: OnLoss,
    ) -> Self {
        PeerSwarm {
            swarm,
            attempts: vec![0; peers.len()],
            peers,
            counts,
            on_loss,
            waits: FuturesUnordered::new(),
        }
    }

    /// The number of peers, connected or not.
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

    pub(crate) fn is_connected(&self, number: usize) -> bool {
        self.swarm.is_connected(&self.peer(number))
    }

    /// Whether connections may be lost, together with the requests on them.
    pub(crate) fn forgives(&self) -> bool {
        self.on_loss == OnLoss::Redial
    }

    /// Closes the connections of a peer.
    pub(crate) fn disconnect(&mut self, number: usize) {
        // This fails only if the peer is not connected.
        let _ = self.swarm.disconnect_peer_id(self.peer(number));
    }

    /// Waits for the next event. If the future is dropped before, no event is lost.
    pub(crate) async fn next(&mut self) -> Result<PeerEvent<B::ToSwarm>> {
        loop {
            let next = poll_fn(|cx| {
                // The waits come first, because the swarm may be busy for a long time.
                while let Poll::Ready(Some(number)) = self.waits.poll_next_unpin(cx) {
                    self.dial(number);
                }
                self.swarm.select_next_some().poll_unpin(cx)
            });
            let event = next.await;
            swarm::count(&event, &self.counts);
            let is_closed = matches!(event, SwarmEvent::ConnectionClosed { .. });
            match self.on_loss {
                OnLoss::Redial => {}
                OnLoss::Expect if is_closed => {}
                OnLoss::Expect | OnLoss::Fail => swarm::refuse_loss(&event)?,
            }
            if let Some(event) = self.peer_event(event) {
                return Ok(event);
            }
        }
    }

    fn peer_event(&mut self, event: SwarmEvent<B::ToSwarm>) -> Option<PeerEvent<B::ToSwarm>> {
        match event {
            SwarmEvent::Behaviour(event) => Some(PeerEvent::Behaviour(event)),
            SwarmEvent::ConnectionEstablished {
                peer_id,
                num_established,
                ..
            } => {
                let number = self.number(&peer_id)?;
                self.attempts[number] = 0;
                (num_established.get() == 1).then_some(PeerEvent::Back(number))
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
                Some(PeerEvent::Lost(number))
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

    /// Dials a peer after a wait that doubles each time. So a peer that is back soon is found soon, and a peer that is away
    /// for hours is not dialled all the time.
    fn dial_later(&mut self, number: usize) {
        const FIRST: Duration = Duration::from_millis(50);
        const LONGEST: Duration = Duration::from_secs(5);
        const MOST_DOUBLINGS: u32 = 10;
        if self.is_connected(number) {
            return;
        }
        let wait = FIRST * 2u32.pow(self.attempts[number].min(MOST_DOUBLINGS));
        self.attempts[number] += 1;
        let waited = sleep(wait.min(LONGEST)).map(move |()| number);
        self.waits.push(waited.boxed());
    }

    /// Dials a peer that is not connected.
    pub(crate) fn dial(&mut self, number: usize) {
        if self.is_connected(number) {
            return;
        }
        match self.swarm.dial(self.peers[number].1.clone()) {
            Ok(()) => self.counts.dialled(),
            Err(_) => self.dial_later(number),
        }
    }
}
