//! At a rate, central connects to a peer, the two identify themselves, central pings, and disconnects. The first ping of a
//! connection counts as a request. Its latency is the time from when the connection was due.

use std::collections::VecDeque;
use std::convert::Infallible;

use anyhow::{Result, bail, ensure};
use libp2p::identify;
use libp2p::identity::Keypair;
use node_kit::{Pacer, RequestLog};
use run_format::{Load, Part};

use super::NodeWorkload;
use super::idle::{Idle, KeepInTouch, KeepInTouchEvent, PING_BYTES};
use crate::peer_swarm::{PeerEvent, PeerSwarm};

pub(crate) struct Handshakes;

impl NodeWorkload for Handshakes {
    type Behaviour = KeepInTouch;

    const CLOSES: bool = true;

    fn behaviour(key: &Keypair) -> Result<KeepInTouch> {
        Idle::behaviour(key)
    }

    async fn central(
        mut peer_swarm: PeerSwarm<KeepInTouch>,
        _: Vec<Part>,
        load: Load,
        mut log: RequestLog,
    ) -> Result<Infallible> {
        let mut pacer = Pacer::new(load, peer_swarm.peers(), &log);
        let mut connections: Vec<PeerConnection> = (0..peer_swarm.peers())
            .map(|_| PeerConnection::default())
            .collect();
        // Nobody has watched the first connections, so they are closed.
        (0..peer_swarm.peers()).for_each(|peer| peer_swarm.disconnect(peer));
        loop {
            let waiting = connections
                .iter()
                .map(|connection| connection.due.len())
                .sum();
            let peer = tokio::select! {
                biased;
                due = pacer.due(waiting) => {
                    let (peer, due_ns) = due?;
                    connections[peer].due.push_back(due_ns);
                    peer
                }
                event = peer_swarm.next() => {
                    let Some((peer, step)) = read_step(&peer_swarm, event?)? else {
                        continue;
                    };
                    ensure!(
                        step != Step::Left || connections[peer].state == ConnectionState::Closing,
                        "peer {} closed the connection before both had identified themselves",
                        peer + 1
                    );
                    if let Some(since_ns) = connections[peer].take(step) {
                        log.answered(peer, since_ns, 2 * PING_BYTES);
                    }
                    peer
                }
            };
            match connections[peer].next() {
                Some(ConnectionState::Open) => peer_swarm.dial(peer),
                Some(ConnectionState::Closing) => peer_swarm.disconnect(peer),
                Some(ConnectionState::Closed) | None => {}
            }
        }
    }
}

/// An event on a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Pinged,
    Identified,
    Left,
}

fn read_step(
    peer_swarm: &PeerSwarm<KeepInTouch>,
    event: PeerEvent<KeepInTouchEvent>,
) -> Result<Option<(usize, Step)>> {
    let (peer, step) = match event {
        PeerEvent::Lost(number) => return Ok(Some((number, Step::Left))),
        PeerEvent::Behaviour(KeepInTouchEvent::Ping(ping)) => match ping.result {
            Ok(_) => (ping.peer, Step::Pinged),
            Err(error) => bail!("a ping to {} failed: {error}", ping.peer),
        },
        PeerEvent::Behaviour(KeepInTouchEvent::Identify(event)) => match event {
            identify::Event::Received { peer_id, .. } => (peer_id, Step::Identified),
            identify::Event::Error { peer_id, error, .. } => {
                bail!("{peer_id} did not identify itself: {error}")
            }
            identify::Event::Sent { .. } | identify::Event::Pushed { .. } => return Ok(None),
        },
        PeerEvent::Back(_) => return Ok(None),
    };
    Ok(peer_swarm.number(&peer).map(|number| (number, step)))
}

/// Central's connections to a peer, of which there is one at a time.
#[derive(Default)]
struct PeerConnection {
    /// The times at which connections were due that are not dialled yet.
    due: VecDeque<u64>,
    state: ConnectionState,
    /// The time at which the present connection was due. None after the ping is answered.
    since_ns: Option<u64>,
    is_identified: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ConnectionState {
    Closed,
    Open,
    #[default]
    Closing,
}

impl PeerConnection {
    /// Notes an event. If it is the answer to the ping, this returns the time at which the connection was due.
    fn take(&mut self, step: Step) -> Option<u64> {
        match (step, &self.state) {
            (Step::Pinged, ConnectionState::Open) => return self.since_ns.take(),
            (Step::Identified, ConnectionState::Open) => self.is_identified = true,
            (Step::Left, _) => self.state = ConnectionState::Closed,
            (
                Step::Pinged | Step::Identified,
                ConnectionState::Closed | ConnectionState::Closing,
            ) => {}
        }
        None
    }

    /// Changes to the next state, if it is time for that, and returns it.
    fn next(&mut self) -> Option<ConnectionState> {
        self.state = match self.state {
            ConnectionState::Closed => {
                self.since_ns = Some(self.due.pop_front()?);
                self.is_identified = false;
                ConnectionState::Open
            }
            ConnectionState::Open if self.since_ns.is_none() && self.is_identified => {
                ConnectionState::Closing
            }
            ConnectionState::Open | ConnectionState::Closing => return None,
        };
        Some(self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_ends_when_both_are_known_and_one_that_is_late_counts_from_when_it_was_due() {
        let mut connection = PeerConnection::default();
        connection.due.extend([10, 20]);
        assert_eq!(
            connection.next(),
            None,
            "the first connection is still there"
        );
        assert_eq!(connection.take(Step::Pinged), None, "of that connection");
        connection.take(Step::Left);
        assert_eq!(connection.next(), Some(ConnectionState::Open));
        assert_eq!(connection.take(Step::Pinged), Some(10));
        assert_eq!(connection.next(), None);
        connection.take(Step::Identified);
        assert_eq!(connection.next(), Some(ConnectionState::Closing));
        assert_eq!(connection.next(), None);
        connection.take(Step::Left);
        assert_eq!(connection.next(), Some(ConnectionState::Open));
        connection.take(Step::Identified);
        assert_eq!(connection.next(), None);
        assert_eq!(connection.take(Step::Pinged), Some(20));
        assert_eq!(connection.next(), Some(ConnectionState::Closing));
        connection.take(Step::Left);
        assert_eq!(connection.next(), None, "nothing is due");
    }
}
