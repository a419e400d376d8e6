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
use crate::linked::{LinkEvent, Linked};

pub(crate) struct Handshakes;

impl NodeWorkload for Handshakes {
    type Behaviour = KeepInTouch;

    const CLOSES: bool = true;

    fn behaviour(key: &Keypair) -> Result<KeepInTouch> {
        Idle::behaviour(key)
    }

    async fn central(
        mut linked: Linked<KeepInTouch>,
        _: Vec<Part>,
        load: Load,
        mut log: RequestLog,
    ) -> Result<Infallible> {
        let mut pacer = Pacer::new(load, linked.peers(), &log);
        let mut links: Vec<Link> = (0..linked.peers()).map(|_| Link::default()).collect();
        // Nobody has watched the first connections, so they are closed.
        (0..linked.peers()).for_each(|peer| linked.disconnect(peer));
        loop {
            let waiting = links.iter().map(|link| link.due.len()).sum();
            let peer = tokio::select! {
                biased;
                due = pacer.due(waiting) => {
                    let (peer, late_ns) = due?;
                    let due_ns = log.now_ns().saturating_sub(late_ns);
                    links[peer].due.push_back(due_ns);
                    peer
                }
                seen = linked.next() => {
                    let Some((peer, step)) = read_step(&linked, seen?)? else {
                        continue;
                    };
                    ensure!(
                        step != Step::Left || links[peer].state == LinkState::Closing,
                        "peer {} closed the connection before both had identified themselves",
                        peer + 1
                    );
                    if let Some(since_ns) = links[peer].take(step) {
                        log.answered(peer, since_ns, 2 * PING_BYTES);
                    }
                    peer
                }
            };
            match links[peer].next() {
                Some(LinkState::Open) => linked.dial(peer),
                Some(LinkState::Closing) => linked.disconnect(peer),
                Some(LinkState::Closed) | None => {}
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
    linked: &Linked<KeepInTouch>,
    seen: LinkEvent<KeepInTouchEvent>,
) -> Result<Option<(usize, Step)>> {
    let (peer, step) = match seen {
        LinkEvent::Lost(number) => return Ok(Some((number, Step::Left))),
        LinkEvent::Behaviour(KeepInTouchEvent::Ping(ping)) => match ping.result {
            Ok(_) => (ping.peer, Step::Pinged),
            Err(error) => bail!("a ping to {} failed: {error}", ping.peer),
        },
        LinkEvent::Behaviour(KeepInTouchEvent::Identify(event)) => match event {
            identify::Event::Received { peer_id, .. } => (peer_id, Step::Identified),
            identify::Event::Error { peer_id, error, .. } => {
                bail!("{peer_id} did not identify itself: {error}")
            }
            identify::Event::Sent { .. } | identify::Event::Pushed { .. } => return Ok(None),
        },
        LinkEvent::Back(_) => return Ok(None),
    };
    Ok(linked.number(&peer).map(|number| (number, step)))
}

/// Central's connections to a peer, of which there is one at a time.
#[derive(Default)]
struct Link {
    /// The times at which connections were due that are not dialled yet.
    due: VecDeque<u64>,
    state: LinkState,
    /// The time at which the present connection was due. None after the ping is answered.
    since_ns: Option<u64>,
    is_identified: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LinkState {
    Closed,
    Open,
    #[default]
    Closing,
}

impl Link {
    /// Notes an event. If it is the answer to the ping, this returns the time at which the connection was due.
    fn take(&mut self, step: Step) -> Option<u64> {
        match (step, &self.state) {
            (Step::Pinged, LinkState::Open) => return self.since_ns.take(),
            (Step::Identified, LinkState::Open) => self.is_identified = true,
            (Step::Left, _) => self.state = LinkState::Closed,
            (Step::Pinged | Step::Identified, LinkState::Closed | LinkState::Closing) => {}
        }
        None
    }

    /// Changes to the next state, if it is time for that, and returns it.
    fn next(&mut self) -> Option<LinkState> {
        self.state = match self.state {
            LinkState::Closed => {
                self.since_ns = Some(self.due.pop_front()?);
                self.is_identified = false;
                LinkState::Open
            }
            LinkState::Open if self.since_ns.is_none() && self.is_identified => LinkState::Closing,
            LinkState::Open | LinkState::Closing => return None,
        };
        Some(self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_ends_when_both_are_known_and_one_that_is_late_counts_from_when_it_was_due() {
        let mut link = Link::default();
        link.due.extend([10, 20]);
        assert_eq!(link.next(), None, "the first connection is still there");
        assert_eq!(link.take(Step::Pinged), None, "of that connection");
        link.take(Step::Left);
        assert_eq!(link.next(), Some(LinkState::Open));
        assert_eq!(link.take(Step::Pinged), Some(10));
        assert_eq!(link.next(), None);
        link.take(Step::Identified);
        assert_eq!(link.next(), Some(LinkState::Closing));
        assert_eq!(link.next(), None);
        link.take(Step::Left);
        assert_eq!(link.next(), Some(LinkState::Open));
        link.take(Step::Identified);
        assert_eq!(link.next(), None);
        assert_eq!(link.take(Step::Pinged), Some(20));
        assert_eq!(link.next(), Some(LinkState::Closing));
        link.take(Step::Left);
        assert_eq!(link.next(), None, "nothing is due");
    }
}
