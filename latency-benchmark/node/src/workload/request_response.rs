//! Central asks, peers echo.

use std::{borrow::BorrowMut, collections::HashMap, convert::Infallible, io, time::Duration};

use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, StreamExt};
use libp2p::{
    Swarm,
    identity::Keypair,
    request_response::{
        Behaviour, Codec, Config, Event, Message, OutboundRequestId, ProtocolSupport,
    },
    swarm::{NetworkBehaviour, SwarmEvent},
};
use tokio::time::{Instant, Sleep, sleep_until};

use node_kit::{MOST_UNANSWERED, RequestLog};
use run_format::config::{Load, Pace};

use super::NodeWorkload;
use crate::linked::{LinkEvent, Linked};

/// Central sends requests, peers echo them.
pub struct RequestResponse;

impl NodeWorkload for RequestResponse {
    type Behaviour = Behaviour<Echo>;

    fn behaviour(_: &Keypair) -> Result<Self::Behaviour> {
        // Longer than any cell: a request that takes so long is what is measured, not an error.
        const PATIENCE: Duration = Duration::from_secs(3600);
        let config = Config::default()
            .with_request_timeout(PATIENCE)
            .with_max_concurrent_streams(MOST_UNANSWERED);
        let protocol = [("/latency-benchmark/echo/1", ProtocolSupport::Full)];
        Ok(Behaviour::new(protocol, config))
    }

    async fn central(
        swarm: Linked<Self::Behaviour>,
        load: Load,
        log: RequestLog,
    ) -> Result<Infallible> {
        ask(swarm, load, log).await
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

/// What central does. Its behaviour may be more than that of the workload.
pub async fn ask<B: Echoes>(swarm: Linked<B>, load: Load, log: RequestLog) -> Result<Infallible> {
    let mut asking = Asking {
        request: Bytes::from(vec![0; load.payload.len()]),
        swarm,
        outstanding: HashMap::new(),
        log,
    };
    match load.pace {
        Pace::Outstanding(outstanding) => asking.closed_loop(outstanding).await,
        Pace::PerSecond(rate) => asking.open_loop(rate).await,
    }
}

/// Has the workload's behaviour, and tells what that tells.
pub trait Echoes:
    NetworkBehaviour<ToSwarm = Event<Bytes, Bytes>> + BorrowMut<Behaviour<Echo>>
{
}

impl<B> Echoes for B where
    B: NetworkBehaviour<ToSwarm = Event<Bytes, Bytes>> + BorrowMut<Behaviour<Echo>>
{
}

struct Asking<B: Echoes> {
    request: Bytes,
    swarm: Linked<B>,
    outstanding: HashMap<OutboundRequestId, Asked>,
    log: RequestLog,
}

struct Asked {
    peer: usize,
    since_ns: u64,
}

/// What central may go on with.
enum Next {
    /// A request to this peer is over.
    Ask(usize),
    /// No request to this peer is under way, and it can be asked again.
    Begin(usize),
}

impl<B: Echoes> Asking<B> {
    async fn closed_loop(&mut self, outstanding: u32) -> Result<Infallible> {
        for number in 0..self.swarm.peers() {
            self.ask_times(outstanding, number);
        }
        loop {
            let seen = self.swarm.next().await?;
            match self.handle(seen)? {
                Some(Next::Ask(number)) => self.ask(number, self.log.now_ns()),
                Some(Next::Begin(number)) => self.ask_times(outstanding, number),
                None => {}
            }
        }
    }

    async fn open_loop(&mut self, rate: f64) -> Result<Infallible> {
        let between = Duration::from_secs_f64(1.0 / rate / self.swarm.peers() as f64);
        let (started, started_ns) = (Instant::now(), self.log.now_ns());
        let mut turn: u32 = 0;
        let mut due = Box::pin(sleep_until(started));
        loop {
            tokio::select! {
                seen = self.swarm.next() => {
                    self.handle(seen?)?;
                }
                () = due.as_mut() => {
                    turn = self.ask_what_is_due(started, started_ns, between, turn)?;
                    Sleep::reset(due.as_mut(), started + between * turn);
                }
            }
        }
    }

    /// Timers come in milliseconds; requests may be due more often. Returns the next turn.
    fn ask_what_is_due(
        &mut self,
        started: Instant,
        started_ns: u64,
        between: Duration,
        mut turn: u32,
    ) -> Result<u32> {
        while started + between * turn <= Instant::now() {
            ensure!(
                self.outstanding.len() < MOST_UNANSWERED,
                "{MOST_UNANSWERED} requests are unanswered: the rate is more than the peers can take"
            );
            let peer = turn as usize % self.swarm.peers();
            let due_ns = started_ns + (between * turn).as_nanos() as u64;
            // The turn of one that is away is over.
            if self.swarm.is_linked(peer) {
                self.ask(peer, due_ns);
            }
            turn += 1;
        }
        Ok(turn)
    }

    fn ask_times(&mut self, times: u32, number: usize) {
        for _ in 0..times {
            self.ask(number, self.log.now_ns());
        }
    }

    fn ask(&mut self, peer: usize, since_ns: u64) {
        let request = self.request.clone();
        let id = self.swarm.peer(peer);
        let echo: &mut Behaviour<Echo> = self.swarm.behaviour_mut().borrow_mut();
        let id = echo.send_request(&id, request);
        self.outstanding.insert(id, Asked { peer, since_ns });
    }

    fn handle(&mut self, seen: LinkEvent<Event<Bytes, Bytes>>) -> Result<Option<Next>> {
        match seen {
            LinkEvent::Behaviour(Event::Message {
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
                Ok(asked.map(|Asked { peer, since_ns }| {
                    self.log.answered(peer, since_ns, 2 * response.len() as u64);
                    Next::Ask(peer)
                }))
            }
            LinkEvent::Behaviour(Event::OutboundFailure {
                peer,
                error,
                request_id,
                ..
            }) => {
                if !self.swarm.forgives() {
                    bail!("a request to {peer} failed: {error}");
                }
                // Those of a peer that is lost are forgotten below, and asked anew when it is back.
                let asked = self.outstanding.remove(&request_id);
                let asked = asked.filter(|asked| self.swarm.is_linked(asked.peer));
                Ok(asked.map(|asked| Next::Ask(asked.peer)))
            }
            LinkEvent::Lost(number) => {
                self.outstanding.retain(|_, asked| asked.peer != number);
                Ok(None)
            }
            LinkEvent::Back(number) => Ok(Some(Next::Begin(number))),
            LinkEvent::Behaviour(_) => Ok(None),
        }
    }
}

/// Bytes, with their number before them.
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
