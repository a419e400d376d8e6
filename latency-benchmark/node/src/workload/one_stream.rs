//! Workloads in which central works each peer over one long stream, by a task of its own.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use anyhow::{Result, anyhow};
use futures::{AsyncReadExt, StreamExt};
use libp2p::identity::Keypair;
use libp2p::{Multiaddr, PeerId, StreamProtocol, Swarm};
use libp2p_stream::{Behaviour, Control};
use node_kit::{Chunks, RequestLog, acknowledge_chunks};
use run_format::{Load, Payload};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::compat::{Compat, FuturesAsyncReadCompatExt as _, FuturesAsyncWriteCompatExt as _};

use super::NodeWorkload;
use crate::asker::{Asker, echo};
use crate::linked::{LinkEvent, Linked};

/// A stream of libp2p.
pub(super) type Link = Compat<libp2p::Stream>;

/// What goes over the stream.
pub(crate) trait OneStream: Clone + Send + Sized + 'static {
    const PROTOCOL: StreamProtocol;

    /// Of a central with peers at these addresses. A peer knows of none.
    fn new(load: Load, peers: &[&Multiaddr]) -> Result<Self>;

    /// Works the peer with that number. It ends only with an error.
    fn ask(
        self,
        peer: usize,
        link: Link,
        log: Arc<Mutex<RequestLog>>,
    ) -> impl Future<Output = Result<Infallible>> + Send;

    /// Answers central. It ends only with an error.
    fn answer(self, link: Link) -> impl Future<Output = Result<Infallible>> + Send;

    /// What a peer that listens there does beside that.
    async fn serve_beside(&self, _listen: &Multiaddr) -> Result<()> {
        Ok(())
    }
}

/// Request and response, as netperf's TCP_RR: central has one request at a time with each peer, which echoes it. What is
/// not the request is what libp2p adds to it.
#[derive(Clone)]
pub(crate) struct Rr(Payload);

impl OneStream for Rr {
    const PROTOCOL: StreamProtocol = StreamProtocol::new("/latency-benchmark/rr/1");

    fn new(load: Load, _: &[&Multiaddr]) -> Result<Rr> {
        Ok(Rr(load.payload))
    }

    async fn ask(self, peer: usize, link: Link, log: Arc<Mutex<RequestLog>>) -> Result<Infallible> {
        let mut asker = Asker::new(link, self.0, log);
        loop {
            asker.ask(peer).await?;
        }
    }

    async fn answer(self, link: Link) -> Result<Infallible> {
        Ok(echo(link, self.0).await?)
    }
}

/// Central sends chunks, which the peer acknowledges.
#[derive(Clone)]
pub(crate) struct Stream(Chunks, usize);

impl OneStream for Stream {
    const PROTOCOL: StreamProtocol = StreamProtocol::new("/latency-benchmark/stream/1");

    fn new(load: Load, _: &[&Multiaddr]) -> Result<Stream> {
        Ok(Stream(Chunks::new(load)?, load.payload.len()))
    }

    async fn ask(self, peer: usize, link: Link, log: Arc<Mutex<RequestLog>>) -> Result<Infallible> {
        let (reading, writing) = split(link);
        self.0.send(peer, reading, writing, &log).await
    }

    async fn answer(self, link: Link) -> Result<Infallible> {
        Ok(acknowledge_chunks(link, self.1).await?)
    }
}

/// The two directions of a stream.
pub(super) fn split(
    link: Link,
) -> (
    impl AsyncRead + Send + Unpin,
    impl AsyncWrite + Send + Unpin,
) {
    let (reading, writing) = link.into_inner().split();
    (reading.compat(), writing.compat_write())
}

pub(crate) async fn open<W: OneStream>(mut control: Control, peer: PeerId) -> Result<Link> {
    let stream = control.open_stream(peer, W::PROTOCOL).await;
    let stream = stream.map_err(|error| anyhow!("no stream to {peer}: {error}"))?;
    Ok(stream.compat())
}

impl<W: OneStream> NodeWorkload for W {
    type Behaviour = Behaviour;

    fn behaviour(_: &Keypair) -> Result<Behaviour> {
        Ok(Behaviour::new())
    }

    async fn central(
        mut linked: Linked<Behaviour>,
        load: Load,
        log: RequestLog,
    ) -> Result<Infallible> {
        let workload = W::new(load, &linked.addresses())?;
        let log = Arc::new(Mutex::new(log));
        let begin = |linked: &Linked<Behaviour>, asking: &mut JoinSet<_>, number: usize| {
            let (control, peer) = (linked.swarm.behaviour().new_control(), linked.peer(number));
            let (workload, log) = (workload.clone(), Arc::clone(&log));
            asking.spawn(async move {
                let asked = async {
                    let link = open::<W>(control, peer).await?;
                    workload.ask(number, link, log).await
                };
                let Err(error) = asked.await;
                (number, error.context(format!("the stream to {peer} broke")))
            })
        };
        let mut asking = JoinSet::new();
        // Of each peer, that which asks it.
        let askers = (0..linked.peers()).map(|number| begin(&linked, &mut asking, number));
        let mut askers: Vec<AbortHandle> = askers.collect();
        loop {
            tokio::select! {
                seen = linked.next() => match seen? {
                    LinkEvent::Behaviour(()) => {}
                    LinkEvent::Lost(number) => askers[number].abort(),
                    LinkEvent::Back(number) => askers[number] = begin(&linked, &mut asking, number),
                },
                Some(ended) = asking.join_next_with_id() => match ended {
                    Ok((_, (_, error))) if !linked.forgives() => return Err(error),
                    // A link whose only stream broke is as good as lost, if it is still the same.
                    Ok((id, (number, _))) if id == askers[number].id() => linked.disconnect(number),
                    Ok(_) => {}
                    // Its peer was lost.
                    Err(error) if error.is_cancelled() => {}
                    Err(error) => return Err(error.into()),
                },
            }
        }
    }

    async fn peer(mut swarm: Swarm<Behaviour>, load: Load) -> Result<Infallible> {
        let workload = W::new(load, &[])?;
        if let Some(listen) = swarm.listeners().next() {
            workload.serve_beside(listen).await?;
        }
        let mut incoming = swarm.behaviour().new_control().accept(W::PROTOCOL)?;
        loop {
            tokio::select! {
                _ = swarm.select_next_some() => {}
                Some((_, stream)) = incoming.next() => {
                    tokio::spawn(workload.clone().answer(stream.compat()));
                }
            }
        }
    }
}
