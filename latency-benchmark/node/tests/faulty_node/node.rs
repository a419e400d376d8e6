//! The node program with a fault injected into central, for tests of what `explain` finds. The variable `FAULT`
//! names the fault; without it there is none. Peers have no fault: it speaks no protocol.

use std::borrow::{Borrow, BorrowMut};
use std::convert::Infallible;
use std::hint::black_box;
use std::process::ExitCode;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{env, thread};

use anyhow::{Result, anyhow, bail};
use bytes::Bytes;
use libp2p::core::Endpoint;
use libp2p::core::transport::PortUse;
use libp2p::core::upgrade::DeniedUpgrade;
use libp2p::identity::Keypair;
use libp2p::request_response::{Behaviour, Event};
use libp2p::swarm::behaviour::{ConnectionClosed, ConnectionEstablished};
use libp2p::swarm::dial_opts::{DialOpts, PeerCondition};
use libp2p::swarm::handler::ConnectionEvent;
use libp2p::swarm::{
    ConnectionDenied, ConnectionHandler, ConnectionHandlerEvent, ConnectionId, FromSwarm,
    NetworkBehaviour, SubstreamProtocol, ToSwarm,
};
use libp2p::{Multiaddr, PeerId, Swarm};
use libp2p_node::workload::{Echo, NodeWorkload, RequestResponse, ask};
use libp2p_node::{Libp2pNode, Linked, central};
use node_kit::scope::CountingAllocator;
use node_kit::{Central, NodeProgram, RequestLog};
use program::{Failure, bad_input};
use run_format::{Load, Measured, Measurement, NodeConfig, NodeDescription, Part, PeerTask};
use tokio::time::{Interval, MissedTickBehavior, interval};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    node_kit::main::<FaultyNode>()
}

/// What is wrong with central.
#[derive(Clone, Copy)]
enum Kind {
    /// In every tenth poll, a handler sleeps
    SleepingHandler,
    /// The hundredth poll of a handler never ends
    EndlessPoll,
    /// Each poll of a handler allocates 10,000 objects and drops them again
    AllocatingHandler,
    /// Each poll of a behaviour wakes its own task
    SelfWakingBehaviour,
    /// A behaviour dials a connected peer, ten times a second
    DiallingBehaviour,
    /// A behaviour starts tasks that never end, fifty a second
    LeakingTasks,
}

fn kind() -> Result<Option<Kind>> {
    Ok(Some(match env::var("FAULT").as_deref() {
        Err(_) => return Ok(None),
        Ok("sleeping-handler") => Kind::SleepingHandler,
        Ok("endless-poll") => Kind::EndlessPoll,
        Ok("allocating-handler") => Kind::AllocatingHandler,
        Ok("self-waking-behaviour") => Kind::SelfWakingBehaviour,
        Ok("dialling-behaviour") => Kind::DiallingBehaviour,
        Ok("leaking-tasks") => Kind::LeakingTasks,
        Ok(other) => bail!("FAULT={other}: no such fault"),
    }))
}

struct FaultyNode;

impl NodeProgram for FaultyNode {
    fn describe() -> NodeDescription {
        Libp2pNode::describe()
    }

    fn check(node: &NodeConfig, measurement: &Measurement) -> Result<(), Failure> {
        Libp2pNode::check(node, measurement)
    }

    async fn peer(task: &PeerTask) -> Result<Infallible, Failure> {
        Libp2pNode::peer(task).await
    }

    fn central(central: Central) -> Result<Measured, Failure> {
        let peers = central.task().peers.iter().map(|address| address.parse());
        let peers: Vec<Multiaddr> = peers
            .collect::<Result<_, _>>()
            .map_err(|error| bad_input(anyhow!("a peer's address: {error}")))?;
        Ok(central::work::<FaultyEcho>(central, peers)?)
    }
}

struct FaultyEcho;

impl NodeWorkload for FaultyEcho {
    type Behaviour = Faulty;

    fn behaviour(key: &Keypair) -> Result<Faulty> {
        Ok(Faulty {
            fault: Fault {
                kind: kind()?,
                ..Fault::default()
            },
            echo: RequestResponse::behaviour(key)?,
        })
    }

    async fn central(
        swarm: Linked<Faulty>,
        _: Vec<Part>,
        load: Load,
        log: RequestLog,
    ) -> Result<Infallible> {
        ask(swarm, load, log).await
    }

    async fn peer(_: Swarm<Faulty>, _: Vec<Part>, _: Load) -> Result<Infallible> {
        bail!("peers have no fault")
    }
}

/// The fault comes first: where a behaviour or a handler is polled, it is.
#[derive(NetworkBehaviour)]
#[behaviour(
    prelude = "libp2p::swarm::derive_prelude",
    to_swarm = "Event<Bytes, Bytes>"
)]
struct Faulty {
    fault: Fault,
    echo: Behaviour<Echo>,
}

impl Borrow<Behaviour<Echo>> for Faulty {
    fn borrow(&self) -> &Behaviour<Echo> {
        &self.echo
    }
}

impl BorrowMut<Behaviour<Echo>> for Faulty {
    fn borrow_mut(&mut self) -> &mut Behaviour<Echo> {
        &mut self.echo
    }
}

/// A fault tells nothing.
#[derive(Debug)]
enum NoEvent {}

impl From<NoEvent> for Event<Bytes, Bytes> {
    fn from(never: NoEvent) -> Self {
        match never {}
    }
}

#[derive(Default)]
struct Fault {
    kind: Option<Kind>,
    ticks: Option<Interval>,
    connected: Vec<(PeerId, Multiaddr)>,
    dials: usize,
}

impl Fault {
    /// Whether it is time again; if not, the task is woken when it is.
    fn is_due(&mut self, cx: &mut Context<'_>, every: Duration) -> bool {
        let ticks = self.ticks.get_or_insert_with(|| {
            let mut ticks = interval(every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        });
        ticks.poll_tick(cx).is_ready()
    }

    /// Peers take turns.
    fn dial_connected_peer(&mut self, cx: &mut Context<'_>) -> Poll<ToSwarm<NoEvent, Infallible>> {
        const EVERY: Duration = Duration::from_millis(100);
        while self.is_due(cx, EVERY) {
            if self.connected.is_empty() {
                continue;
            }
            let (peer, address) = &self.connected[self.dials % self.connected.len()];
            self.dials += 1;
            let opts = DialOpts::peer_id(*peer)
                .condition(PeerCondition::Always)
                .addresses(vec![address.clone()])
                .build();
            return Poll::Ready(ToSwarm::Dial { opts });
        }
        Poll::Pending
    }

    fn leak_tasks(&mut self, cx: &mut Context<'_>) {
        const EVERY: Duration = Duration::from_millis(20);
        while self.is_due(cx, EVERY) {
            tokio::spawn(std::future::pending::<()>());
        }
    }
}

impl NetworkBehaviour for Fault {
    type ConnectionHandler = FaultHandler;
    type ToSwarm = NoEvent;

    fn handle_established_inbound_connection(
        &mut self,
        _: ConnectionId,
        _: PeerId,
        _: &Multiaddr,
        _: &Multiaddr,
    ) -> Result<FaultHandler, ConnectionDenied> {
        Ok(FaultHandler::new(self.kind))
    }

    fn handle_established_outbound_connection(
        &mut self,
        _: ConnectionId,
        _: PeerId,
        _: &Multiaddr,
        _: Endpoint,
        _: PortUse,
    ) -> Result<FaultHandler, ConnectionDenied> {
        Ok(FaultHandler::new(self.kind))
    }

    fn on_swarm_event(&mut self, event: FromSwarm<'_>) {
        match event {
            FromSwarm::ConnectionEstablished(ConnectionEstablished {
                peer_id,
                endpoint,
                other_established: 0,
                ..
            }) => {
                let address = endpoint.get_remote_address().clone();
                self.connected.push((peer_id, address));
            }
            FromSwarm::ConnectionClosed(ConnectionClosed {
                peer_id,
                remaining_established: 0,
                ..
            }) => self.connected.retain(|(peer, _)| *peer != peer_id),
            _ => {}
        }
    }

    fn on_connection_handler_event(&mut self, _: PeerId, _: ConnectionId, event: Infallible) {
        match event {}
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ToSwarm<NoEvent, Infallible>> {
        match self.kind {
            Some(Kind::SelfWakingBehaviour) => cx.waker().wake_by_ref(),
            Some(Kind::DiallingBehaviour) => return self.dial_connected_peer(cx),
            Some(Kind::LeakingTasks) => self.leak_tasks(cx),
            Some(Kind::SleepingHandler | Kind::EndlessPoll | Kind::AllocatingHandler) | None => {}
        }
        Poll::Pending
    }
}

struct FaultHandler {
    kind: Option<Kind>,
    polls: u64,
}

impl FaultHandler {
    fn new(kind: Option<Kind>) -> FaultHandler {
        FaultHandler { kind, polls: 0 }
    }
}

// Not to be inlined: they are to be found by name in stacks.

#[inline(never)]
fn sleep_in_poll() {
    const SLEEP: Duration = Duration::from_micros(200);
    thread::sleep(SLEEP);
}

#[inline(never)]
fn allocate_in_poll() {
    const OBJECTS: u64 = 10_000;
    for number in 0..OBJECTS {
        drop(black_box(Box::new(number)));
    }
}

impl ConnectionHandler for FaultHandler {
    type FromBehaviour = Infallible;
    type ToBehaviour = Infallible;
    type InboundProtocol = DeniedUpgrade;
    type OutboundProtocol = DeniedUpgrade;
    type InboundOpenInfo = ();
    type OutboundOpenInfo = ();

    fn listen_protocol(&self) -> SubstreamProtocol<DeniedUpgrade> {
        SubstreamProtocol::new(DeniedUpgrade, ())
    }

    fn on_behaviour_event(&mut self, event: Infallible) {
        match event {}
    }

    fn poll(
        &mut self,
        _: &mut Context<'_>,
    ) -> Poll<ConnectionHandlerEvent<DeniedUpgrade, (), Infallible>> {
        const SLEEP_EVERY: u64 = 10;
        const ENDLESS: u64 = 100;
        self.polls += 1;
        match self.kind {
            Some(Kind::SleepingHandler) if self.polls.is_multiple_of(SLEEP_EVERY) => {
                sleep_in_poll();
            }
            Some(Kind::EndlessPoll) if self.polls == ENDLESS => loop {
                thread::park();
            },
            Some(Kind::AllocatingHandler) => allocate_in_poll(),
            _ => {}
        }
        Poll::Pending
    }

    fn on_connection_event(&mut self, _: ConnectionEvent<'_, DeniedUpgrade, DeniedUpgrade>) {
        // It has opened no stream and accepts none, and nothing else concerns it.
    }
}
