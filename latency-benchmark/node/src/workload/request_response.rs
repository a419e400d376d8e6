//! The workload `request-response`: central sends requests, and peers echo them.

use std::borrow::BorrowMut;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, StreamExt};
use libp2p::Swarm;
use libp2p::identity::Keypair;
use libp2p::request_response::{
    Behaviour, Codec, Config, Event, Message, OutboundRequestId, ProtocolSupport,
};
use libp2p::swarm::{NetworkBehaviour, SwarmEvent};

use node_kit::{MOST_UNANSWERED, Pacer, RequestLog};
use run_format::{Load, Part};

use super::NodeWorkload;
use crate::peer_swarm::{PeerEvent, PeerSwarm};

/// Central sends requests, peers echo them.
pub struct RequestResponse;

impl NodeWorkload for RequestResponse {
    type Behaviour = Behaviour<Echo>;

    fn behaviour(_: &Keypair) -> Result<Self::Behaviour> {
        // This is longer than any cell, because a slow request is a result and not an error.
        const PATIENCE: Duration = Duration::from_secs(3600);
        let config = Config::default()
            .with_request_timeout(PATIENCE)
            .with_max_concurrent_streams(MOST_UNANSWERED);
        let protocol = [("/latency-benchmark/echo/1", ProtocolSupport::Full)];
        Ok(Behaviour::new(protocol, config))
    }

    async fn central(
        swarm: PeerSwarm<Self::Behaviour>,
        _: Vec<Part>,
        load: Load,
        log: RequestLog,
    ) -> Result<Infallible> {
        ask(swarm, load, log).await
    }

    async fn peer(mut swarm: Swarm<Self::Behaviour>, _: Vec<Part>, _: Load) -> Result<Infallible> {
        loop {
            if let SwarmEvent::Behaviour(Event::Message {
                message:
                    Message::Request {
                        request, channel, ..
                    },
                ..
            }) = swarm.select_next_some().await
            {
                // Central may be gone.
                let _ = swarm.behaviour_mut().send_response(channel, request);
            }
        }
    }
}

/// Asks the peers. The behaviour of central may contain more than that of the workload.
pub async fn ask<B>(peer_swarm: PeerSwarm<B>, load: Load, log: RequestLog) -> Result<Infallible>
where
    B: NetworkBehaviour<ToSwarm = Event<Bytes, Bytes>> + BorrowMut<Behaviour<Echo>>,
{
    let mut asking = Asking {
        pacer: Pacer::new(load, peer_swarm.peers(), &log),
        request: Bytes::from(vec![0; load.payload.len()]),
        peer_swarm,
        asked: HashMap::new(),
        log,
    };
    for peer in 0..asking.peer_swarm.peers() {
        asking.ask_times(asking.pacer.outstanding, peer);
    }
    loop {
        let unanswered = asking.asked.len();
        tokio::select! {
            // Timers have a resolution of a millisecond. Requests that are due more often are sent together.
            biased;
            due = asking.pacer.due(unanswered) => {
                let (peer, due_ns) = due?;
                // A peer that is away is not asked.
                if asking.peer_swarm.is_connected(peer) {
                    asking.ask(peer, due_ns);
                }
            }
            event = asking.peer_swarm.next() => asking.handle(event?)?,
        }
    }
}

struct Asking<B: NetworkBehaviour> {
    pacer: Pacer,
    request: Bytes,
    peer_swarm: PeerSwarm<B>,
    /// The peer and the time of each unanswered request.
    asked: HashMap<OutboundRequestId, (usize, u64)>,
    log: RequestLog,
}

impl<B: NetworkBehaviour + BorrowMut<Behaviour<Echo>>> Asking<B> {
    fn ask_times(&mut self, times: u32, peer: usize) {
        for _ in 0..times {
            self.ask(peer, self.log.now_ns());
        }
    }

    /// Sends the next request after one that is over. In an open loop, the next request is due at its own time.
    fn ask_again(&mut self, peer: usize) {
        if self.pacer.is_closed_loop() {
            self.ask(peer, self.log.now_ns());
        }
    }

    fn ask(&mut self, peer: usize, since_ns: u64) {
        let request = self.request.clone();
        let id = self.peer_swarm.peer(peer);
        let echo: &mut Behaviour<Echo> = self.peer_swarm.swarm.behaviour_mut().borrow_mut();
        let id = echo.send_request(&id, request);
        self.asked.insert(id, (peer, since_ns));
    }

    fn handle(&mut self, event: PeerEvent<Event<Bytes, Bytes>>) -> Result<()> {
        match event {
            PeerEvent::Behaviour(Event::Message {
                message:
                    Message::Response {
                        request_id,
                        response,
                    },
                ..
            }) => {
                let (sent, got) = (self.request.len(), response.len());
                ensure!(got == sent, "asked for {sent} bytes and got {got}");
                if let Some((peer, since_ns)) = self.asked.remove(&request_id) {
                    self.log.answered(peer, since_ns, 2 * got as u64);
                    self.pacer.answered(self.log.now_ns());
                    self.ask_again(peer);
                }
            }
            PeerEvent::Behaviour(Event::OutboundFailure {
                peer,
                error,
                request_id,
                ..
            }) => {
                if !self.peer_swarm.forgives() {
                    bail!("a request to {peer} failed: {error}");
                }
                // Requests to a lost peer are removed below, and sent again when the peer is back.
                if let Some((peer, _)) = self.asked.remove(&request_id)
                    && self.peer_swarm.is_connected(peer)
                {
                    self.ask_again(peer);
                }
            }
            PeerEvent::Lost(number) => self.asked.retain(|_, (peer, _)| *peer != number),
            PeerEvent::Back(number) => self.ask_times(self.pacer.outstanding, number),
            PeerEvent::Behaviour(_) => {}
        }
        Ok(())
    }
}

/// A codec that sends the number of bytes and then the bytes.
#[derive(Clone, Default)]
pub struct Echo;

#[cfg_attr(feature = "async-trait", async_trait::async_trait)]
impl Codec for Echo {
    type Protocol = &'static str;
    type Request = Bytes;
    type Response = Bytes;

    async fn read_request<T>(&mut self, _: &&'static str, io: &mut T) -> io::Result<Bytes>
    where
        T: AsyncRead + Unpin + Send,
    {
        read(io).await
    }

    async fn read_response<T>(&mut self, _: &&'static str, io: &mut T) -> io::Result<Bytes>
    where
        T: AsyncRead + Unpin + Send,
    {
        read(io).await
    }

    async fn write_request<T: AsyncWrite + Unpin + Send>(
        &mut self,
        _: &&'static str,
        io: &mut T,
        bytes: Bytes,
    ) -> io::Result<()> {
        write(io, &bytes).await
    }

    async fn write_response<T: AsyncWrite + Unpin + Send>(
        &mut self,
        _: &&'static str,
        io: &mut T,
        bytes: Bytes,
    ) -> io::Result<()> {
        write(io, &bytes).await
    }
}

async fn read<T: AsyncRead + Unpin + Send>(io: &mut T) -> io::Result<Bytes> {
    let mut length = [0; 4];
    io.read_exact(&mut length).await?;
    let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
    io.read_exact(&mut bytes).await?;
    Ok(bytes.into())
}

async fn write<T: AsyncWrite + Unpin + Send>(io: &mut T, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    io.write_all(&length.to_be_bytes()).await?;
    io.write_all(bytes).await?;
    io.flush().await
}
