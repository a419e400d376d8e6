//! The probe counts as many polls of connection tasks as an independent counter on the same tasks,
//! `tokio_metrics::TaskMonitor`.

use std::time::Duration;

use crate::swarm::{self, EchoNode, listen, node};
use futures::StreamExt;
use libp2p::request_response as rr;
use libp2p::swarm::SwarmEvent;
use poll_probe::{Capacity, Mode, Recorder, Variant};
use run_format::{Budgets, Site};
use tokio_metrics::TaskMonitor;

const PEERS: usize = 3;
const RESPONSES: usize = 100;

/// A peer on a thread and a runtime of its own, apart from the monitored tasks.
fn start_peer() -> libp2p::Multiaddr {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut peer = node(swarm::spawn);
            tell.send(listen(&mut peer).await).unwrap();
            swarm::echo(peer).await;
        });
    });
    told.recv().unwrap()
}

/// Sends requests until this many responses have arrived.
async fn exchange(central: &mut EchoNode, responses: usize) {
    let peers: Vec<_> = central.connected_peers().copied().collect();
    for peer in &peers {
        central.behaviour_mut().send_request(peer, vec![1; 100_000]);
    }
    let mut seen = 0;
    while seen < responses {
        if let SwarmEvent::Behaviour(rr::Event::Message {
            peer,
            message: rr::Message::Response { .. },
            ..
        }) = central.select_next_some().await
        {
            seen += 1;
            central
                .behaviour_mut()
                .send_request(&peer, vec![1; 100_000]);
        }
    }
}

#[test]
fn task_counts_equal_those_of_tokio_metrics_on_the_same_tasks() {
    let _alone = swarm::alone();
    let addresses: Vec<_> = (0..PEERS).map(|_| start_peer()).collect();
    let recorder = Recorder::new(Capacity::default());
    recorder.attach();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let monitor = TaskMonitor::new();
        let monitored = monitor.clone();
        let mut central = node(move |task| {
            tokio::spawn(monitored.instrument(task));
        });
        for address in addresses {
            central.dial(address).unwrap();
        }
        while central.connected_peers().count() < PEERS {
            central.select_next_some().await;
        }
        // From here on, all tasks of the monitor drive connections.
        for budgets in ["none", "task=2", "task=1/deferred,muxer=1", "connection=1"] {
            exchange(&mut central, 10).await;
            Variant {
                budgets: budgets.parse::<Budgets>().unwrap().in_central(),
                mode: Mode::Minimal,
            }
            .install();
            // Both counts begin and end between two polls, since this is the runtime's one thread.
            let before = monitor.cumulative();
            recorder.drain(|_| {});
            exchange(&mut central, RESPONSES).await;
            let after = monitor.cumulative();
            let (mut polls, mut ns) = (0, 0);
            let drained = recorder.drain(|record| {
                if record.site == Site::Task {
                    polls += 1;
                    ns += record.duration_ns;
                }
            });
            assert_eq!(drained.lost(Site::Task.into()), 0);
            assert_eq!(
                polls,
                after.total_poll_count - before.total_poll_count,
                "{budgets}"
            );
            assert!(polls > RESPONSES as u64 / 10, "{budgets}: {polls} polls");
            // The monitor's time includes ours, but its clock is a different one.
            let theirs = after.total_poll_duration - before.total_poll_duration;
            println!(
                "{budgets}: {polls} polls, {:?}, by the monitor's clock {theirs:?}",
                Duration::from_nanos(ns)
            );
        }
    });
}
