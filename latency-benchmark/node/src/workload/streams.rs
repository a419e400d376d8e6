//! Workloads in which central works each peer over streams. Each stream has a task. A profile has several of these workloads
//! as its parts.

use std::collections::HashMap;
use std::convert::Infallible;
use std::iter;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Error, Result, anyhow, bail};
use futures::future::BoxFuture;
use futures::stream::SelectAll;
use futures::{AsyncReadExt, FutureExt, StreamExt};
use libp2p::identity::Keypair;
use libp2p::{Multiaddr, PeerId, StreamProtocol, Swarm};
use libp2p_stream::{Behaviour, Control};
use node_kit::{RequestLog, SendTimes, count_chunks, locked, send_chunks};
use run_format::{Load, Part, Workload};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::compat::{Compat, FuturesAsyncReadCompatExt as _, FuturesAsyncWriteCompatExt as _};

use super::NodeWorkload;
use super::duplex::{Served, StreamId, answer_chunks, exchange_chunks, serve_beside};
use crate::asker::{Asker, echo};
use crate::peer_swarm::{PeerEvent, PeerSwarm};

/// A stream of libp2p.
type ByteStream = Compat<libp2p::Stream>;

/// The protocol of a stream. Each stream has its own, because libp2p-stream keeps only one stream of a protocol until the peer
/// accepts it, and resets others that come meanwhile.
fn protocol([part, stream]: StreamId) -> Result<StreamProtocol> {
    let name = format!("/latency-benchmark/streams/1/{part}/{stream}");
    Ok(StreamProtocol::try_from_owned(name)?)
}

pub(crate) async fn open(mut control: Control, peer: PeerId, id: StreamId) -> Result<ByteStream> {
    let opened = control.open_stream(peer, protocol(id)?).await;
    let stream = opened.map_err(|error| anyhow!("no stream to {peer}: {error}"))?;
    Ok(stream.compat())
}

/// The two directions of a stream.
fn split(
    stream: ByteStream,
) -> (
    impl AsyncRead + Send + Unpin,
    impl AsyncWrite + Send + Unpin,
) {
    let (reading, writing) = stream.into_inner().split();
    (reading.compat(), writing.compat_write())
}

/// The work over the streams of a part.
struct Work {
    part: Part,
    began: Instant,
    /// The send of the newest chunk that has arrived, for each peer and stream.
    newest: Mutex<HashMap<(usize, StreamId), u64>>,
    /// Only requests of the first part are noted.
    log: Arc<Mutex<RequestLog>>,
}

impl Work {
    async fn ask(
        &self,
        peer: usize,
        stream: ByteStream,
        (id, at): (StreamId, &Multiaddr),
    ) -> Result<Infallible> {
        let (part, log) = (&self.part, &self.log);
        let mut times = SendTimes::new(part, self.began);
        match part.workload {
            Workload::Duplex => {
                exchange_chunks(&part.sizes, peer, (id, at), split(stream), log).await
            }
            Workload::Rr => {
                let mut asker = Asker::new(stream, part.sizes.largest(), Arc::clone(log));
                let mut number = 0;
                loop {
                    let ((_, due), size) = (times.next().await, part.sizes.nth(number));
                    asker.ask(peer, size, due.elapsed()).await?;
                    number += 1;
                }
            }
            Workload::Stream | Workload::Burst => {
                let is_last = |send| self.is_last((peer, id), send);
                send_chunks(part, times, peer, split(stream), log, is_last).await
            }
            Workload::RequestResponse
            | Workload::Gossipsub
            | Workload::Idle
            | Workload::Handshakes => bail!("{:?} does not go over streams", part.workload),
        }
    }

    /// Notes that the chunk of a send has arrived over a stream. Returns whether it has now arrived over all streams. In a
    /// closed loop, chunks are not sent to all peers at once, so none is the last.
    fn is_last(&self, stream: (usize, StreamId), send: u64) -> bool {
        let mut newest = locked(&self.newest);
        newest.insert(stream, send);
        self.part.rate.is_some() && newest.values().all(|newest| *newest >= send)
    }
}

async fn answer(
    (id, stream): (StreamId, ByteStream),
    parts: &[Part],
    served: &Served,
) -> Result<Infallible> {
    let part = parts.get(usize::from(id[0])).context("no such part")?;
    match part.workload {
        Workload::Duplex => answer_chunks(&part.sizes, id, split(stream), served).await,
        Workload::Rr => Ok(echo(stream, &part.sizes).await?),
        Workload::Stream | Workload::Burst => count_chunks(stream, &part.sizes).await,
        Workload::RequestResponse | Workload::Gossipsub | Workload::Idle | Workload::Handshakes => {
            bail!("{:?} does not go over streams", part.workload)
        }
    }
}

/// All streams of central, with the peer and the part of each.
pub(crate) struct CentralStreams(Vec<(usize, StreamId, Arc<Work>)>);

impl CentralStreams {
    pub(crate) fn new(parts: Vec<Part>, peers: usize, log: RequestLog) -> CentralStreams {
        let began = Instant::now();
        let others = iter::repeat(Arc::new(Mutex::new(log.unread())));
        let logs = iter::once(Arc::new(Mutex::new(log))).chain(others);
        let works = (0..)
            .zip(parts)
            .zip(logs)
            .flat_map(|((number, part), log)| {
                let peers = (0..peers).filter(|peer| part.has_peer(*peer + 1));
                let streams = peers.flat_map(|peer| {
                    (0..part.streams()).map(move |stream| (peer, [number, stream]))
                });
                let streams: Vec<(usize, StreamId)> = streams.collect();
                let newest = streams.iter().map(|stream| (*stream, 0)).collect();
                let work = Arc::new(Work {
                    newest: Mutex::new(newest),
                    part,
                    began,
                    log,
                });
                let with_work = move |(peer, id)| (peer, id, Arc::clone(&work));
                streams.into_iter().map(with_work)
            });
        CentralStreams(works.collect())
    }

    /// The tasks that work the peer with this number, counted from zero. A task ends only with an error.
    pub(crate) fn tasks_for_peer(
        &self,
        peer_swarm: &PeerSwarm<Behaviour>,
        number: usize,
    ) -> impl Iterator<Item = BoxFuture<'static, Error>> {
        let streams = self.0.iter().filter(move |(peer, ..)| *peer == number);
        streams.map(move |(_, id, work)| {
            let (peer, control) = (
                peer_swarm.peer(number),
                peer_swarm.swarm.behaviour().new_control(),
            );
            let (id, work, at) = (*id, Arc::clone(work), peer_swarm.address(number).clone());
            let asked = async move {
                let stream = open(control, peer, id).await?;
                work.ask(number, stream, (id, &at)).await
            };
            let failed = asked.map(move |Err(error)| {
                Error::context(error, format!("the stream to {peer} broke"))
            });
            failed.boxed()
        })
    }
}

pub(crate) struct Streams;

impl NodeWorkload for Streams {
    type Behaviour = Behaviour;

    fn behaviour(_: &Keypair) -> Result<Behaviour> {
        poll_probe::watch_muxers();
        Ok(Behaviour::new())
    }

    async fn central(
        mut peer_swarm: PeerSwarm<Behaviour>,
        parts: Vec<Part>,
        _: Load,
        log: RequestLog,
    ) -> Result<Infallible> {
        let works = CentralStreams::new(parts, peer_swarm.peers(), log);
        let begin = |peer_swarm: &PeerSwarm<Behaviour>, asking: &mut JoinSet<_>, number: usize| {
            let spawn = |task: BoxFuture<'static, Error>| {
                asking.spawn(task.map(move |error| (number, error)))
            };
            let tasks = works.tasks_for_peer(peer_swarm, number).map(spawn);
            tasks.collect::<Vec<AbortHandle>>()
        };
        let mut asking = JoinSet::new();
        // The tasks that ask each peer.
        let mut askers: Vec<Vec<AbortHandle>> = (0..peer_swarm.peers())
            .map(|number| begin(&peer_swarm, &mut asking, number))
            .collect();
        loop {
            tokio::select! {
                event = peer_swarm.next() => match event? {
                    PeerEvent::Behaviour(()) => {}
                    PeerEvent::Lost(number) => askers[number].iter().for_each(AbortHandle::abort),
                    PeerEvent::Back(number) => askers[number] = begin(&peer_swarm, &mut asking, number),
                },
                Some(ended) = asking.join_next_with_id() => match ended {
                    Ok((_, (_, error))) if !peer_swarm.forgives() => return Err(error),
                    // A stream of the present connection broke, so the connection is treated as lost.
                    Ok((id, (number, _))) if askers[number].iter().any(|task| task.id() == id) => {
                        peer_swarm.disconnect(number);
                    }
                    Ok(_) => {}
                    // The peer of this task was lost.
                    Err(error) if error.is_cancelled() => {}
                    Err(error) => return Err(error.into()),
                },
            }
        }
    }

    async fn peer(mut swarm: Swarm<Behaviour>, parts: Vec<Part>, _: Load) -> Result<Infallible> {
        let served = Served::default();
        if let Some(listen) = swarm.listeners().next()
            && parts.iter().any(|part| part.workload == Workload::Duplex)
        {
            serve_beside(listen, &served).await?;
        }
        let parts: Arc<[Part]> = parts.into();
        let mut incoming = SelectAll::new();
        for (number, part) in parts.iter().enumerate() {
            for stream in 0..part.streams() {
                let id = [number as u8, stream];
                let accepted = swarm.behaviour().new_control().accept(protocol(id)?)?;
                incoming.push(accepted.map(move |(_, stream)| (id, stream.compat())));
            }
        }
        loop {
            tokio::select! {
                _ = swarm.select_next_some() => {}
                Some(stream) = incoming.next() => {
                    let (parts, served) = (Arc::clone(&parts), Arc::clone(&served));
                    tokio::spawn(async move { answer(stream, &parts, &served).await });
                }
            }
        }
    }
}
