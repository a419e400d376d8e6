//! Central and its peers for `--gate`.

mod ends;

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use libp2p::core::muxing::StreamMuxerBox;
use libp2p::core::transport::{Boxed, MemoryTransport};
use libp2p::identity::Keypair;
use libp2p::{Multiaddr, PeerId, Swarm, Transport as _};
use libp2p_stream::Behaviour;
use node_kit::gate::{self, Nodes, TaskCounter};
use node_kit::{ConnectionCounts, RequestLog, StackTask};
use run_format::{GateCell, GateCounts, GateTask, GateTransport, Load, Part, Workload};

use crate::peer_swarm::{OnLoss, PeerSwarm};
use crate::swarm;
use crate::workload::{CentralStreams, NodeWorkload, RequestResponse, Streams};

/// Runs a cell with [`gate::run`]. It is inlined so that only the program for `--gate` compiles its transports.
#[inline]
pub fn run(task: &GateTask, hold_time: fn()) -> Result<GateCounts> {
    let cell = &task.cell;
    gate::run(task, hold_time, async |task_counter, log| {
        match cell.workload {
            Workload::RequestResponse => {
                let work = RequestResponse::central;
                nodes::<RequestResponse, _>(cell, &task_counter, log, work).await
            }
            Workload::Stream => {
                let same = task_counter.clone();
                let work = async move |peer_swarm, parts, _, log| {
                    stream(peer_swarm, parts, log, &same).await
                };
                nodes::<Streams, _>(cell, &task_counter, log, work).await
            }
            other => bail!("the workload {other:?} does not do the same in each run"),
        }
    })
}

/// Makes central, whose task is counted, and its peers.
async fn nodes<W, C>(
    cell: &GateCell,
    task_counter: &TaskCounter,
    log: RequestLog,
    work: C,
) -> Result<Nodes>
where
    W: NodeWorkload + 'static,
    C: AsyncFnOnce(PeerSwarm<W::Behaviour>, Vec<Part>, Load, RequestLog) -> Result<Infallible>
        + 'static,
{
    let (nodes, load) = (Nodes::new(), cell.load);
    let parts = vec![Part::whole(cell.workload, load)];
    let mut addresses = Vec::new();
    for number in 1..=cell.peers {
        let spawn = |task| {
            tokio::spawn(task);
        };
        let mut swarm = build::<W>(cell, number, spawn)?;
        let at: Multiaddr = format!("/memory/{number}").parse()?;
        addresses.push(swarm::listen(&mut swarm, at).await?);
        nodes.push(Box::pin(W::peer(swarm, parts.clone(), load)));
    }
    let same = task_counter.clone();
    let mut swarm = build::<W>(cell, 0, move |task| same.spawn(task))?;
    let central = async move {
        let counts = Arc::new(ConnectionCounts::default());
        let peers = swarm::connect(&mut swarm, &addresses, &counts).await?;
        let peer_swarm = PeerSwarm::new(swarm, peers, counts, OnLoss::Fail);
        work(peer_swarm, parts, load, log).await
    };
    nodes.push(Box::pin(task_counter.around(Box::pin(central))));
    Ok(nodes)
}

/// Builds a node whose key depends only on its number. Central has the number 0.
fn build<W: NodeWorkload>(
    cell: &GateCell,
    number: usize,
    spawn: impl Fn(StackTask) + Send + 'static,
) -> Result<Swarm<W::Behaviour>> {
    let seed = u8::try_from(number).context("more peers than keys")?;
    let key = Keypair::ed25519_from_bytes([seed; 32])?;
    let (memory, security) = (MemoryTransport::new(), cell.security);
    let transport: Boxed<(PeerId, StreamMuxerBox)> = match cell.transport {
        GateTransport::Memory => swarm::upgraded(memory, security, &key)?,
        GateTransport::Pipe => swarm::upgraded(memory.map(ends::pipe), security, &key)?,
        GateTransport::Socket => swarm::upgraded(memory.map(ends::socket), security, &key)?,
    };
    let behaviour = W::behaviour(&key)?;
    Ok(swarm::build(transport, &key, behaviour, spawn))
}

/// The workload `stream` in central. Each task that works a peer is counted.
async fn stream(
    mut peer_swarm: PeerSwarm<Behaviour>,
    parts: Vec<Part>,
    log: RequestLog,
    task_counter: &TaskCounter,
) -> Result<Infallible> {
    let works = CentralStreams::new(parts, peer_swarm.peers(), log);
    for number in 0..peer_swarm.peers() {
        for task in works.tasks_for_peer(&peer_swarm, number) {
            let same = task_counter.clone();
            task_counter.spawn(Box::pin(async move { same.end(task.await) }));
        }
    }
    loop {
        peer_swarm.next().await?;
    }
}
