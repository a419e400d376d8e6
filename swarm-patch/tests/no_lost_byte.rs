//! With the smallest budget at every site, nothing is lost and nothing stalls: requests of random
//! size both ways at once, over TCP with noise and yamux, all answered with what they asked.
#![allow(clippy::unwrap_used)]

mod swarm;

use std::{collections::HashMap, sync::LazyLock, time::Duration};

use futures::StreamExt;
use libp2p::{PeerId, request_response as rr, swarm::SwarmEvent};
use poll_probe::{Mode, Variant};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use swarm::{Node, listen, node};
use tokio::{runtime, sync::oneshot, time::timeout};

const REQUESTS_EACH_WAY: u64 = 1_000;
const OUTSTANDING: u64 = 8;
const LARGEST: usize = 1 << 20;
/// Without progress for so long, a wake-up was lost. Far more than any machine needs for 8 MiB.
const STALLED: Duration = Duration::from_secs(60);

/// Request number `number` of a side. Large ones are as likely as small ones, and both ends occur.
/// Its bytes are a stretch of one random text, each request's from an offset of its own.
fn request(side: u64, number: u64) -> Vec<u8> {
    static TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut text = vec![0; 2 * LARGEST];
        StdRng::seed_from_u64(0).fill(&mut text[..]);
        text
    });
    let mut rng = StdRng::seed_from_u64(side << 32 | number);
    let length = match number {
        0 => 0,
        1 => LARGEST,
        _ if number.is_multiple_of(2) => rng.random_range(0..=LARGEST),
        _ => rng.random_range(0..=64 << 10),
    };
    let offset = rng.random_range(0..LARGEST);
    TEXT[offset..offset + length].to_vec()
}

struct Side {
    number: u64,
    node: Node,
    other: PeerId,
    next: u64,
    asked: HashMap<rr::OutboundRequestId, u64>,
    answered: u64,
    echoed: u64,
}

impl Side {
    fn new(number: u64, node: Node, other: PeerId) -> Self {
        Side {
            number,
            node,
            other,
            next: 0,
            asked: HashMap::new(),
            answered: 0,
            echoed: 0,
        }
    }

    fn ask(&mut self) {
        if self.next < REQUESTS_EACH_WAY {
            let bytes = request(self.number, self.next);
            let id = self.node.behaviour_mut().send_request(&self.other, bytes);
            self.asked.insert(id, self.next);
            self.next += 1;
        }
    }

    /// Until all is asked, answered and echoed.
    async fn run(mut self, other_has_all: oneshot::Receiver<()>, has_all: oneshot::Sender<()>) {
        for _ in 0..OUTSTANDING {
            self.ask();
        }
        while self.answered < REQUESTS_EACH_WAY || self.echoed < REQUESTS_EACH_WAY {
            let event = timeout(STALLED, self.node.select_next_some()).await;
            let event = event.unwrap_or_else(|_| {
                panic!(
                    "side {} stalled with {} answered, {} echoed, {} outstanding",
                    self.number,
                    self.answered,
                    self.echoed,
                    self.asked.len()
                )
            });
            self.handle(event);
        }
        // The last response is on its way through this side's connection.
        has_all.send(()).unwrap();
        let mut other_has_all = other_has_all;
        loop {
            tokio::select! {
                _ = &mut other_has_all => break,
                event = self.node.select_next_some() => self.handle(event),
            }
        }
    }

    fn handle(&mut self, event: SwarmEvent<rr::Event<Vec<u8>, Vec<u8>>>) {
        match event {
            SwarmEvent::Behaviour(rr::Event::Message { message, .. }) => match message {
                rr::Message::Request {
                    request, channel, ..
                } => {
                    self.node
                        .behaviour_mut()
                        .send_response(channel, request)
                        .unwrap();
                }
                rr::Message::Response {
                    request_id,
                    response,
                } => {
                    let number = self.asked.remove(&request_id).unwrap();
                    assert!(
                        response == request(self.number, number),
                        "request {number} came back changed"
                    );
                    self.answered += 1;
                    self.ask();
                }
            },
            SwarmEvent::Behaviour(rr::Event::ResponseSent { .. }) => self.echoed += 1,
            SwarmEvent::Behaviour(
                failure @ (rr::Event::OutboundFailure { .. } | rr::Event::InboundFailure { .. }),
            ) => panic!("{failure:?}"),
            SwarmEvent::ConnectionClosed { cause, .. } => panic!("connection closed: {cause:?}"),
            _ => {}
        }
    }
}

async fn exchange() {
    let mut left = node(swarm::spawn);
    let mut right = node(swarm::spawn);
    let address = listen(&mut left).await;
    right.dial(address).unwrap();
    let (left_id, right_id) = (*left.local_peer_id(), *right.local_peer_id());
    let established =
        |event: SwarmEvent<_>| matches!(event, SwarmEvent::ConnectionEstablished { .. });
    let (mut left_is, mut right_is) = (false, false);
    while !(left_is && right_is) {
        tokio::select! {
            event = left.select_next_some() => left_is |= established(event),
            event = right.select_next_some() => right_is |= established(event),
        }
    }
    let (left_has_all, left_done) = oneshot::channel();
    let (right_has_all, right_done) = oneshot::channel();
    let left = tokio::spawn(Side::new(0, left, right_id).run(right_done, left_has_all));
    let right = tokio::spawn(Side::new(1, right, left_id).run(left_done, right_has_all));
    let (left, right) = tokio::join!(left, right);
    left.unwrap();
    right.unwrap();
}

#[test]
fn every_request_is_answered_with_its_own_bytes_under_the_smallest_budgets() {
    for wake in ["immediate", "deferred"] {
        let budgets = format!("connection=1/{wake},muxer=1/{wake},task=1/{wake}");
        Variant {
            budgets: budgets.parse().unwrap(),
            mode: Mode::Off,
        }
        .install();
        for mut runtime in [
            runtime::Builder::new_current_thread(),
            runtime::Builder::new_multi_thread(),
        ] {
            let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
            let started = std::time::Instant::now();
            runtime.block_on(exchange());
            println!(
                "{budgets} {:?}: {:?}",
                runtime.handle().runtime_flavor(),
                started.elapsed()
            );
        }
    }
}
