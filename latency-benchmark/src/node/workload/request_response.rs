//! Central asks, peers echo.

use std::{collections::HashMap, convert::Infallible, io, time::Duration};

use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, StreamExt};
use libp2p::{
    PeerId, Swarm,
    identity::Keypair,
    request_response::{
        Behaviour, Codec, Config, Event, Message, OutboundRequestId, ProtocolSupport,
    },
    swarm::SwarmEvent,
};
use tokio::time::{Instant, Sleep, sleep_until};

use super::Workload;
use crate::{
    config::{Load, Pace},
    node::swarm::refuse_loss,
    observe::requests::RequestLog,
};

pub(crate) struct RequestResponse;

impl Workload for RequestResponse {
    type Behaviour = Behaviour<Echo>;

    fn behaviour(_: &Keypair) -> Result<Self::Behaviour> {
        // Longer than any cell: a request that takes so long is what is measured, not an error.
        const PATIENCE: Duration = Duration::from_secs(3600);
        let config = Config::default()
            .with_request_timeout(PATIENCE)
            .with_max_concurrent_streams(MAX_CONCURRENT);
        let protocol = [("/latency-benchmark/echo/1", ProtocolSupport::Full)];
        Ok(Behaviour::new(protocol, config))
    }

    async fn central(
        swarm: Swarm<Self::Behaviour>,
        peers: Vec<PeerId>,
        load: Load,
        log: RequestLog,
    ) -> Result<Infallible> {
        let mut asking = Asking {
            request: Bytes::from(vec![0; load.payload.len()]),
            swarm,
            outstanding: HashMap::new(),
            log,
        };
        match load.pace {
            Pace::Outstanding(outstanding) => asking.closed_loop(&peers, outstanding).await,
            Pace::PerSecond(rate) => asking.open_loop(&peers, rate).await,
        }
    }

    async fn peer(mut swarm: Swarm<Self::Behaviour>, _: Load) -> Result<Infallible> {
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

/// In an open loop, requests pile up where the rate is too high. So many are allowed to.
const MAX_CONCURRENT: usize = 4096;

struct Asking {
    request: Bytes,
    swarm: Swarm<Behaviour<Echo>>,
    outstanding: HashMap<OutboundRequestId, Asked>,
    log: RequestLog,
}

struct Asked {
    peer: usize,
    since_ns: u64,
}

impl Asking {
    async fn closed_loop(&mut self, peers: &[PeerId], outstanding: u32) -> Result<Infallible> {
        for (number, peer) in peers.iter().enumerate() {
            for _ in 0..outstanding {
                self.ask(number, peer, self.log.now_ns());
            }
        }
        loop {
            let event = self.swarm.select_next_some().await;
            if let Some(asked) = self.handle(event)? {
                self.ask(asked.peer, &peers[asked.peer], self.log.now_ns());
            }
        }
    }

    async fn open_loop(&mut self, peers: &[PeerId], rate: f64) -> Result<Infallible> {
        let between = Duration::from_secs_f64(1.0 / rate / peers.len() as f64);
        let (started, started_ns) = (Instant::now(), self.log.now_ns());
        let mut turn: u32 = 0;
        let mut due = Box::pin(sleep_until(started));
        loop {
            tokio::select! {
                event = self.swarm.select_next_some() => {
                    self.handle(event)?;
                }
                () = due.as_mut() => {
                    turn = self.ask_what_is_due(peers, started, started_ns, between, turn)?;
                    Sleep::reset(due.as_mut(), started + between * turn);
                }
            }
        }
    }

    /// Timers come in milliseconds; requests may be due more often. Returns the next turn.
    fn ask_what_is_due(
        &mut self,
        peers: &[PeerId],
        started: Instant,
        started_ns: u64,
        between: Duration,
        mut turn: u32,
    ) -> Result<u32> {
        while started + between * turn <= Instant::now() {
            ensure!(
                self.outstanding.len() < MAX_CONCURRENT,
                "{MAX_CONCURRENT} requests are unanswered: the rate is more than the peers can take"
            );
            let peer = turn as usize % peers.len();
            let due_ns = started_ns + (between * turn).as_nanos() as u64;
            self.ask(peer, &peers[peer], due_ns);
            turn += 1;
        }
        Ok(turn)
    }

    fn ask(&mut self, number: usize, peer: &PeerId, since_ns: u64) {
        let request = self.request.clone();
        let id = self.swarm.behaviour_mut().send_request(peer, request);
        let peer = number;
        self.outstanding.insert(id, Asked { peer, since_ns });
    }

    /// Returns the request that the event answers, if it does.
    fn handle(&mut self, event: SwarmEvent<Event<Bytes, Bytes>>) -> Result<Option<Asked>> {
        match event {
            SwarmEvent::Behaviour(Event::Message {
                message:
                    Message::Response {
                        request_id,
                        response,
                    },
                ..
            }) => {
                ensure!(
                    response.len() == self.request.len(),
                    "asked for {} bytes and got {}",
                    self.request.len(),
                    response.len()
                );
                let asked = self.outstanding.remove(&request_id);
                if let Some(Asked { peer, since_ns }) = asked {
                    self.log.answered(peer, since_ns, 2 * response.len() as u64);
                }
                Ok(asked)
            }
            SwarmEvent::Behaviour(Event::OutboundFailure { peer, error, .. }) => {
                bail!("a request to {peer} failed: {error}")
            }
            other => refuse_loss(&other).map(|()| None),
        }
    }
}

/// Bytes, with their number before them.
#[derive(Clone, Default)]
pub(crate) struct Echo;

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

    async fn write_request<T>(
        &mut self,
        _: &&'static str,
        io: &mut T,
        bytes: Bytes,
    ) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        write(io, &bytes).await
    }

    async fn write_response<T>(
        &mut self,
        _: &&'static str,
        io: &mut T,
        bytes: Bytes,
    ) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
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
