//! A node program with a fault in central, for tests of how a sweep reacts. The environment variable `FAULT` names the fault.
//! Without the variable there is none. Peers have no fault, because it needs no protocol.

use std::borrow::{Borrow, BorrowMut};
use std::convert::Infallible;
use std::process::ExitCode;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use std::{env, hint, thread};

use anyhow::{Result, anyhow, bail};
use bytes::Bytes;
use libp2p::core::Endpoint;
use libp2p::core::transport::PortUse;
use libp2p::core::upgrade::DeniedUpgrade;
use libp2p::identity::Keypair;
use libp2p::request_response::{Behaviour, Event};
use libp2p::swarm::handler::ConnectionEvent;
use libp2p::swarm::{
    ConnectionDenied, ConnectionHandler, ConnectionHandlerEvent, ConnectionId, FromSwarm,
    NetworkBehaviour, SubstreamProtocol, ToSwarm,
};
use libp2p::{Multiaddr, PeerId, Swarm};
use libp2p_node::workload::{Echo, NodeWorkload, RequestResponse, ask};
use libp2p_node::{Libp2pNode, PeerSwarm, central};
use node_kit::profiler::CountingAllocator;
use node_kit::{Central, NodeProgram, RequestLog};
use program::{Failure, bad_input};
use run_format::{Load, Measured, Measurement, NodeConfig, NodeDescription, Part, PeerTask};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    node_kit::main::<FaultyNode>()
}

/// The fault of central.
#[derive(Clone, Copy)]
enum Kind {
    /// A handler computes for long in every tenth poll.
    ComputingHandler,
    /// The hundredth poll of a handler never ends.
    EndlessPoll,
}

fn kind() -> Result<Option<Kind>> {
    Ok(Some(match env::var("FAULT").as_deref() {
        Err(_) => return Ok(None),
        Ok("computing-handler") => Kind::ComputingHandler,
        Ok("endless-poll") => Kind::EndlessPoll,
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
            fault: Fault { kind: kind()? },
            echo: RequestResponse::behaviour(key)?,
        })
    }

    async fn central(
        swarm: PeerSwarm<Faulty>,
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

/// The fault comes first, so it is polled whenever the behaviour or a handler is.
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

/// A fault has no events.
#[derive(Debug)]
enum NoEvent {}

impl From<NoEvent> for Event<Bytes, Bytes> {
    fn from(never: NoEvent) -> Self {
        match never {}
    }
}

struct Fault {
    kind: Option<Kind>,
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

    fn on_swarm_event(&mut self, _: FromSwarm<'_>) {}

    fn on_connection_handler_event(&mut self, _: PeerId, _: ConnectionId, event: Infallible) {
        match event {}
    }

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<ToSwarm<NoEvent, Infallible>> {
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

/// It computes and does not sleep, because polls are counted by the time that their thread runs.
fn compute_in_poll() {
    const LONG: Duration = Duration::from_micros(300);
    let began = Instant::now();
    while began.elapsed() < LONG {
        hint::spin_loop();
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
        const LONG_EVERY: u64 = 10;
        const ENDLESS: u64 = 100;
        self.polls += 1;
        match self.kind {
            Some(Kind::ComputingHandler) if self.polls.is_multiple_of(LONG_EVERY) => {
                compute_in_poll();
            }
            Some(Kind::EndlessPoll) if self.polls == ENDLESS => loop {
                thread::park();
            },
            _ => {}
        }
        Poll::Pending
    }

    fn on_connection_event(&mut self, _: ConnectionEvent<'_, DeniedUpgrade, DeniedUpgrade>) {
        // It has opened no stream and accepts none, and nothing else concerns it.
    }
}
