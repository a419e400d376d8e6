//! Two nodes of one program ping each other. It prints the numbers of the sites whose polls were recorded.

use std::collections::BTreeSet;
use std::sync::Arc;

use libp2p::futures::StreamExt;
use libp2p::swarm::SwarmEvent;
use libp2p::{Swarm, SwarmBuilder, noise, ping, tcp, yamux};
use poll_probe::{ProcessBudgets, Capacity, Mode, Recorder, Variant};

fn node() -> Swarm<ping::Behaviour> {
    SwarmBuilder::with_new_identity()
        .with_tokio()
        .with_tcp(
            tcp::Config::default(),
            noise::Config::new,
            yamux::Config::default,
        )
        .expect("a transport")
        .with_behaviour(|_| ping::Behaviour::default())
        .expect("a behaviour")
        .build()
}

async fn exchange_a_ping() {
    let (mut one, mut other) = (node(), node());
    let any = "/ip4/127.0.0.1/tcp/0".parse().expect("an address");
    one.listen_on(any).expect("there is a port");
    loop {
        tokio::select! {
            event = one.select_next_some() => {
                if let SwarmEvent::NewListenAddr { address, .. } = event {
                    other.dial(address).expect("it listens");
                }
            }
            event = other.select_next_some() => {
                if let SwarmEvent::Behaviour(event) = event {
                    event.result.expect("it answers");
                    return;
                }
            }
        }
    }
}

fn main() {
    let recorder = Arc::new(Recorder::new(Capacity {
        records: 1 << 12,
        marks: 1,
    }));
    let thread_recorder = recorder.clone();
    Variant {
        budgets: ProcessBudgets::NONE,
        mode: Mode::Minimal,
    }
    .install();
    recorder.attach();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .on_thread_start(move || thread_recorder.attach())
        .build()
        .expect("a runtime");
    runtime.block_on(exchange_a_ping());
    drop(runtime);
    let mut sites = BTreeSet::new();
    recorder.drain(|record| {
        sites.insert(record.site.number());
    });
    println!("{sites:?}");
}
