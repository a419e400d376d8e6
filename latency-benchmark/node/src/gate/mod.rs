//! What `--gate` runs: central and its peers in one process, on one thread, until a number of requests is answered.
//! Central's tasks are watched: what they do meanwhile is counted, and nothing is timed.

mod counting;
mod pipe;
mod watched;

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use libp2p::core::muxing::StreamMuxerBox;
use libp2p::core::transport::{Boxed, MemoryTransport};
use libp2p::identity::Keypair;
use libp2p::{Multiaddr, PeerId, Swarm, Transport as _};
use libp2p_stream::Behaviour;
use node_kit::{ConnectionCounts, RequestLog, StackTask, locked};
use run_format::{GateCell, GateCounts, GateTask, GateTransport, Load, Part, Workload};
use tokio::runtime;
use tokio::sync::oneshot;

use self::counting::Counting;
use self::watched::Watched;
use crate::linked::{Linked, OnLoss};
use crate::swarm;
use crate::workload::{NodeWorkload, RequestResponse, Streams, Works};

/// Runs a cell. Time stands still from the call of `hold_time` on, which comes after the clock of records has been
/// compared with the real one.
pub fn run(task: &GateTask, hold_time: impl FnOnce()) -> Result<GateCounts> {
    let (done, mut counted) = oneshot::channel();
    let (counting, log) = Counting::new(task, done)?;
    hold_time();
    let counting = Arc::new(Mutex::new(counting));
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let _within = runtime.enter();
    let nodes = match task.cell.workload {
        Workload::RequestResponse => {
            let work = RequestResponse::central;
            runtime.block_on(nodes::<RequestResponse, _>(task, &counting, log, work))
        }
        Workload::Stream => {
            let same = Arc::clone(&counting);
            let work = async move |linked, parts, _, log| stream(linked, parts, log, &same).await;
            runtime.block_on(nodes::<Streams, _>(task, &counting, log, work))
        }
        other => bail!("the workload {other:?} has no end that is the same each time"),
    };
    let mut nodes = nodes?;
    let all = poll_fn(|cx| {
        if let Poll::Ready(Some(Err(error))) = nodes.poll_next_unpin(cx) {
            return Poll::Ready(Err(error));
        }
        Pin::new(&mut counted).poll(cx).map(|counted| counted?)
    });
    runtime.block_on(all)
}

type Nodes = FuturesUnordered<Pin<Box<dyn Future<Output = Result<Infallible>>>>>;

/// Central, which is watched, and its peers.
async fn nodes<W, C>(
    task: &GateTask,
    counting: &Arc<Mutex<Counting>>,
    log: RequestLog,
    work: C,
) -> Result<Nodes>
where
    W: NodeWorkload + 'static,
    C: AsyncFnOnce(Linked<W::Behaviour>, Vec<Part>, Load, RequestLog) -> Result<Infallible>
        + 'static,
{
    let (nodes, load) = (Nodes::new(), task.cell.load);
    let parts = vec![Part::whole(task.cell.workload, load)];
    let mut addresses = Vec::new();
    for number in 1..=task.cell.peers {
        let spawn = |task| {
            tokio::spawn(task);
        };
        let mut swarm = build::<W>(&task.cell, number, spawn)?;
        let at: Multiaddr = match task.cell.transport {
            GateTransport::Memory | GateTransport::Pipe => format!("/memory/{number}").parse()?,
            GateTransport::Tcp => "/ip4/127.0.0.1/tcp/0".parse()?,
        };
        addresses.push(swarm::listen(&mut swarm, at).await?);
        nodes.push(Box::pin(W::peer(swarm, parts.clone(), load)));
    }
    let mut swarm = build::<W>(&task.cell, 0, spawner(counting))?;
    let central = async move {
        let links = Arc::new(ConnectionCounts::default());
        let peers = swarm::connect(&mut swarm, &addresses, &links).await?;
        let linked = Linked::new(swarm, peers, links, OnLoss::Fail);
        work(linked, parts, load, log).await
    };
    nodes.push(Box::pin(Watched::new(Box::pin(central), counting)));
    Ok(nodes)
}

/// A node whose key is always the same. Central has the number 0.
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
        GateTransport::Pipe => swarm::upgraded(memory.map(pipe::end), security, &key)?,
        GateTransport::Tcp => swarm::upgraded(swarm::tcp(), security, &key)?,
    };
    let behaviour = W::behaviour(&key)?;
    Ok(swarm::build(transport, &key, behaviour, spawn))
}

/// Starts central's tasks.
fn spawner(counting: &Arc<Mutex<Counting>>) -> impl Fn(StackTask) + Send + 'static + use<> {
    let counting = Arc::clone(counting);
    move |task| {
        tokio::spawn(Watched::new(task, &counting));
    }
}

/// As the workload has it, but each task that works a peer is watched.
async fn stream(
    mut linked: Linked<Behaviour>,
    parts: Vec<Part>,
    log: RequestLog,
    counting: &Arc<Mutex<Counting>>,
) -> Result<Infallible> {
    let spawn = spawner(counting);
    let works = Works::new(parts, linked.peers(), log);
    for number in 0..linked.peers() {
        for task in works.of_peer(&linked, number) {
            let counting = Arc::clone(counting);
            spawn(Box::pin(async move {
                let error = task.await;
                locked(&counting).end_with(Err(error));
            }));
        }
    }
    loop {
        linked.next().await?;
    }
}
