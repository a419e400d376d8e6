//! With the smallest budget at every site, nothing is lost and nothing stalls. Requests of random size go
//! both ways at once, over TCP with noise and yamux, and each gets the right response. The test also
//! checks that the budgets were spent, since otherwise it would prove nothing.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use crate::swarm::{self, EchoNode, listen, node};
use futures::StreamExt;
use libp2p::swarm::SwarmEvent;
use libp2p::{PeerId, request_response as rr};
use poll_probe::{Capacity, Mode, Outcome, Recorder, Variant};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use run_format::{Budgets, Limit, Site};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::timeout;

const OUTSTANDING: u64 = 8;
const LARGEST: usize = 1 << 20;
/// If there is no progress for this long, a wake-up was lost. Any machine needs far less for 8 MiB.
const STALLED: Duration = Duration::from_secs(60);

/// Request number `number` of a side. The first two have the smallest and the largest size. Half of the
/// others have at most 64 KiB. The bytes are part of one random text, from an offset that differs per
/// request.
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

struct EchoSide {
    number: u64,
    node: EchoNode,
    other: PeerId,
    requests: u64,
    next: u64,
    asked: HashMap<rr::OutboundRequestId, u64>,
    answered: u64,
    echoed: u64,
}

impl EchoSide {
    fn new(number: u64, node: EchoNode, other: PeerId, requests: u64) -> Self {
        EchoSide {
            number,
            node,
            other,
            requests,
            next: 0,
            asked: HashMap::new(),
            answered: 0,
            echoed: 0,
        }
    }

    fn ask(&mut self) {
        if self.next < self.requests {
            let bytes = request(self.number, self.next);
            let id = self.node.behaviour_mut().send_request(&self.other, bytes);
            self.asked.insert(id, self.next);
            self.next += 1;
        }
    }

    /// Runs until all requests are sent, answered and checked.
    async fn run(mut self, mut other_has_all: oneshot::Receiver<()>, has_all: oneshot::Sender<()>) {
        for _ in 0..OUTSTANDING {
            self.ask();
        }
        while self.answered < self.requests || self.echoed < self.requests {
            match timeout(STALLED, self.node.select_next_some()).await {
                Ok(event) => self.handle(event),
                Err(_) => panic!(
                    "side {} stalled with {} answered, {} echoed, {} outstanding",
                    self.number,
                    self.answered,
                    self.echoed,
                    self.asked.len()
                ),
            }
        }
        // This side's connection still has to send the last response.
        has_all.send(()).unwrap();
        loop {
            tokio::select! {
                // The message comes first, because the other side may close the connection right after it.
                biased;
                _ = &mut other_has_all => break,
                event = self.node.select_next_some() => {
                    // On another thread it may have done both since.
                    if other_has_all.try_recv().is_ok() {
                        break;
                    }
                    self.handle(event);
                }
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

async fn exchange(requests_each_way: u64) {
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
    let left = EchoSide::new(0, left, right_id, requests_each_way);
    let right = EchoSide::new(1, right, left_id, requests_each_way);
    let left = tokio::spawn(left.run(right_done, left_has_all));
    let right = tokio::spawn(right.run(left_done, right_has_all));
    let (left, right) = tokio::join!(left, right);
    left.unwrap();
    right.unwrap();
}

/// The counts of the first recorded invocations of each site.
#[derive(Debug, Default)]
struct Counts {
    /// The number of invocations that spent their budget.
    yields: HashMap<Site, u64>,
    /// The most iterations of one invocation.
    iterations: HashMap<Site, u32>,
}

/// Exchanges requests under the budgets, on both kinds of runtime.
fn counts(budgets: &str, requests_each_way: u64) -> Vec<Counts> {
    let budgets: Budgets = budgets.parse().unwrap();
    let variant = Variant {
        budgets: budgets.in_central(),
        mode: Mode::Minimal,
    };
    variant.install();
    let kinds = [
        runtime::Builder::new_current_thread(),
        runtime::Builder::new_multi_thread(),
    ];
    let counts = kinds.map(|mut runtime| {
        let recorder = Arc::new(Recorder::new(Capacity {
            records: 1 << 16,
            marks: 0,
        }));
        recorder.attach();
        let thread_recorder = Arc::clone(&recorder);
        runtime.on_thread_start(move || thread_recorder.attach());
        let built = runtime.worker_threads(2).enable_all().build().unwrap();
        let started = Instant::now();
        built.block_on(exchange(requests_each_way));
        let mut counts = Counts::default();
        recorder.drain(|record| {
            if record.outcome == Outcome::Yielded {
                *counts.yields.entry(record.site.into()).or_default() += 1;
            }
            let longest = counts.iterations.entry(record.site.into()).or_default();
            *longest = record.iterations.unwrap_or(0).max(*longest);
        });
        let (flavor, elapsed) = (built.handle().runtime_flavor(), started.elapsed());
        println!("{budgets} {flavor:?}: {elapsed:?}, {counts:?}");
        counts
    });
    counts.into()
}

/// This is one test, since the variant in force applies to the whole process.
#[test]
fn every_request_is_answered_with_its_own_bytes_under_the_smallest_budgets() {
    let _alone = swarm::alone();
    const BOUNDED: [Site; 3] = [Site::Connection, Site::Muxer, Site::Task];
    for (wake, remedy) in [
        ("immediate", ""),
        ("deferred", ""),
        ("immediate", "flush=32KiB,"),
        ("deferred", "flush=32KiB,"),
    ] {
        for (limit, requests_each_way) in [("1", 200), ("1ns", 100)] {
            let at = |site: Site| format!("{site}={limit}/{wake}");
            let budgets = remedy.to_owned() + &BOUNDED.map(at).join(",");
            for Counts { yields, .. } in counts(&budgets, requests_each_way) {
                for site in BOUNDED {
                    assert!(yields.contains_key(&site), "{budgets}: {site}: {yields:?}");
                }
            }
        }
    }
    counts("flush=32KiB", 200);
    for Counts { yields, .. } in counts("connection=coop,muxer=coop,task=coop", 100) {
        assert!(!yields.is_empty(), "nobody spent tokio's budget");
    }
}

#[test]
fn every_request_is_answered_with_its_own_bytes_under_a_patch() {
    let _alone = swarm::alone();
    let Ok(patch) = std::env::var("PATCH") else {
        return println!("skipped: tests/all/patches.rs runs it, with patched crates");
    };
    let patch: Budgets = patch.parse().unwrap();
    for Counts { iterations, .. } in counts("none", 1_000) {
        for site in [Site::Connection, Site::Muxer] {
            if let Some(Limit::Count(count)) = patch.at(site).map(|budget| budget.limit) {
                // A turn that only yields is counted too.
                assert_eq!(iterations[&site], count.get() + 1, "{iterations:?}");
            }
        }
    }
}
