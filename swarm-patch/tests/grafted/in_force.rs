//! In the grafted crates the marks record and the budgets bound. The test checks the records of connections over TCP with
//! noise and yamux at each site.

use std::collections::HashMap;

use crate::swarm::{self, EchoNode, listen, node};
use futures::StreamExt;
use libp2p::swarm::SwarmEvent;
use libp2p::{PeerId, request_response as rr};
use poll_probe::{Capacity, ChildPoll, Mode, Outcome, Record, Recorder, Variant};
use run_format::{Budgets, Site};
use tokio::runtime;

const RESPONSES: usize = 100;
const OUTSTANDING: usize = 4;

/// The sums of the records of a site.
#[derive(Debug, Default)]
struct SiteTotals {
    outcomes: HashMap<Outcome, u64>,
    most_iterations: u32,
    /// Pairs of children in one iteration between which the function ran its own code.
    gaps: u64,
    children: HashMap<&'static str, u64>,
}

impl SiteTotals {
    fn add(&mut self, record: &Record<'_>) {
        *self.outcomes.entry(record.outcome).or_default() += 1;
        self.most_iterations = self.most_iterations.max(record.iterations.unwrap_or(0));
        for poll in record.children {
            *self.children.entry(poll.child).or_default() += 1;
        }
        let gaps = record
            .children
            .windows(2)
            .filter(|pair| is_gap(&pair[0], &pair[1]));
        self.gaps += gaps.count() as u64;
    }

    fn with(&self, outcome: Outcome) -> u64 {
        self.outcomes.get(&outcome).copied().unwrap_or(0)
    }
}

/// Whether there was a mark between two children. If there was none, the first ends when the second begins, apart from
/// rounding.
fn is_gap(before: &ChildPoll, after: &ChildPoll) -> bool {
    before.iteration == after.iteration
        && after.offset_ns > before.offset_ns + before.duration_ns + 2
}

/// A node that sends requests, and the id of its peer, which answers them in a task of its own.
async fn connected() -> (EchoNode, PeerId) {
    let (mut asked, mut asking) = (node(swarm::spawn), node(swarm::spawn));
    let peer = *asked.local_peer_id();
    asking.dial(listen(&mut asked).await).unwrap();
    tokio::spawn(swarm::echo(asked));
    while asking.connected_peers().next().is_none() {
        asking.select_next_some().await;
    }
    (asking, peer)
}

async fn exchange(asking: &mut EchoNode, peer: &PeerId) {
    let ask = |asking: &mut EchoNode| asking.behaviour_mut().send_request(peer, vec![1; 100_000]);
    for _ in 0..OUTSTANDING {
        ask(asking);
    }
    let mut answered = 0;
    while answered < RESPONSES {
        if let SwarmEvent::Behaviour(rr::Event::Message {
            message: rr::Message::Response { .. },
            ..
        }) = asking.select_next_some().await
        {
            answered += 1;
            ask(asking);
        }
    }
}

/// The sums of the records that began under the budgets, with traffic.
fn observe(budgets: &str) -> HashMap<Site, SiteTotals> {
    let recorder = Recorder::new(Capacity::default());
    recorder.attach();
    let variant = Variant {
        budgets: budgets.parse::<Budgets>().unwrap().in_central(),
        mode: Mode::Children,
    }
    .install();
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (mut asking, peer) = connected().await;
        exchange(&mut asking, &peer).await;
    });
    let mut seen: HashMap<Site, SiteTotals> = HashMap::new();
    let drained = recorder.drain(|record| {
        assert_eq!((record.variant, record.entries_lost), (variant, 0));
        seen.entry(record.site.into()).or_default().add(record);
    });
    assert!(
        Site::ALL
            .iter()
            .all(|site| drained.lost((*site).into()) == 0)
    );
    seen
}

/// This is one test, since the variant in force applies to the whole process.
#[test]
fn every_site_is_marked_and_bounded_by_its_own_budget() {
    let _alone = swarm::alone();
    let seen = observe("none");
    for site in [Site::Connection, Site::Swarm, Site::Muxer, Site::Task] {
        let totals = &seen[&site];
        assert_eq!(totals.with(Outcome::Yielded), 0, "{site}: {totals:?}");
        assert!(totals.with(Outcome::Pending) > 0, "{site}: {totals:?}");
        assert!(!totals.children.is_empty(), "{site}: {totals:?}");
        assert!(totals.most_iterations > 1, "{site}: {totals:?}");
    }
    for site in [Site::Connection, Site::Muxer] {
        assert!(seen[&site].gaps > 0, "{site}: {:?}", seen[&site]);
    }
    for (site, children) in [
        (
            Site::Connection,
            &[
                "handler.poll",
                "muxing.poll_unpin",
                "muxing.poll_inbound_unpin",
            ][..],
        ),
        (
            Site::Muxer,
            &[
                "self.socket.poll_next_unpin",
                "self.stream_receivers.poll_next_unpin",
            ],
        ),
        (Site::Swarm, &["this.behaviour.poll", "this.pool.poll"]),
        (Site::Task, &["Pin::new(&mut connection).poll"]),
    ] {
        for child in children {
            let totals = &seen[&site];
            assert!(
                totals.children.contains_key(child),
                "{site}: {child}: {totals:?}"
            );
        }
    }
    for bounded in [Site::Connection, Site::Muxer, Site::Task] {
        for wake in ["immediate", "deferred"] {
            let budgets = format!("{bounded}=1/{wake}");
            for (site, seen) in observe(&budgets) {
                let yielded = seen.with(Outcome::Yielded);
                if site == bounded {
                    assert!(seen.most_iterations == 1, "{budgets}: {seen:?}");
                    assert!(yielded > 0, "{budgets}: {seen:?}");
                } else {
                    assert_eq!(yielded, 0, "{budgets}, {site}: {seen:?}");
                }
            }
        }
    }
}
