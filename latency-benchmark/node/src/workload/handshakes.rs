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
        let mut visits: Vec<Visit> = (0..linked.peers()).map(|_| Visit::default()).collect();
        // Nobody has watched the first connections, so they are closed.
        (0..linked.peers()).for_each(|peer| linked.disconnect(peer));
        loop {
            let waiting = visits.iter().map(|visit| visit.due.len()).sum();
            let peer = tokio::select! {
                biased;
                due = pacer.due(waiting) => {
                    let (peer, late_ns) = due?;
                    let due_ns = log.now_ns().saturating_sub(late_ns);
                    visits[peer].due.push_back(due_ns);
                    peer
                }
                seen = linked.next() => {
                    let Some((peer, step)) = step(&linked, seen?)? else {
                        continue;
                    };
                    ensure!(
                        step != Step::Left || visits[peer].at == At::Leaving,
                        "peer {} closed the connection before both had identified themselves",
                        peer + 1
                    );
                    if let Some(since_ns) = visits[peer].take(step) {
                        log.answered(peer, since_ns, 2 * PING_BYTES);
                    }
                    peer
                }
            };
            match visits[peer].next() {
                Some(At::Peer) => linked.dial(peer),
                Some(At::Leaving) => linked.disconnect(peer),
                Some(At::Home) | None => {}
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

fn step(
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

/// The visits of central to a peer, to which it has one connection at a time.
#[derive(Default)]
struct Visit {
    /// The times at which visits were due that have not begun.
    due: VecDeque<u64>,
    at: At,
    /// The time at which the present visit was due. None after the ping is answered.
    since_ns: Option<u64>,
    is_identified: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    Home,
    Peer,
    #[default]
    Leaving,
}

impl Visit {
    /// Notes an event. If it is the answer to the ping, this returns the time at which the visit was due.
    fn take(&mut self, step: Step) -> Option<u64> {
        match (step, &self.at) {
            (Step::Pinged, At::Peer) => return self.since_ns.take(),
            (Step::Identified, At::Peer) => self.is_identified = true,
            (Step::Left, _) => self.at = At::Home,
            (Step::Pinged | Step::Identified, At::Home | At::Leaving) => {}
        }
        None
    }

    /// Goes to the next place, if it is time for that, and returns it.
    fn next(&mut self) -> Option<At> {
        self.at = match self.at {
            At::Home => {
                self.since_ns = Some(self.due.pop_front()?);
                self.is_identified = false;
                At::Peer
            }
            At::Peer if self.since_ns.is_none() && self.is_identified => At::Leaving,
            At::Peer | At::Leaving => return None,
        };
        Some(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_ends_when_both_are_known_and_one_that_is_late_counts_from_when_it_was_due() {
        let mut visit = Visit::default();
        visit.due.extend([10, 20]);
        assert_eq!(visit.next(), None, "the first connection is still there");
        assert_eq!(visit.take(Step::Pinged), None, "of that connection");
        visit.take(Step::Left);
        assert_eq!(visit.next(), Some(At::Peer));
        assert_eq!(visit.take(Step::Pinged), Some(10));
        assert_eq!(visit.next(), None);
        visit.take(Step::Identified);
        assert_eq!(visit.next(), Some(At::Leaving));
        assert_eq!(visit.next(), None);
        visit.take(Step::Left);
        assert_eq!(visit.next(), Some(At::Peer));
        visit.take(Step::Identified);
        assert_eq!(visit.next(), None);
        assert_eq!(visit.take(Step::Pinged), Some(20));
        assert_eq!(visit.next(), Some(At::Leaving));
        visit.take(Step::Left);
        assert_eq!(visit.next(), None, "nothing is due");
    }
}
