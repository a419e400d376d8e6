//! Central sends chunks over one long stream per peer; a peer acknowledges each with a byte. A
//! request is a chunk.

use std::convert::Infallible;

use anyhow::{Context, Error, Result, anyhow, bail};
use futures::{AsyncReadExt, AsyncWriteExt, StreamExt};
use libp2p::{PeerId, StreamProtocol, Swarm, identity::Keypair};
use libp2p_stream::{Behaviour, Control};
use tokio::sync::mpsc;

use node_kit::RequestLog;
use run_format::config::{Load, Pace};

use super::NodeWorkload;
use crate::linked::{LinkEvent, Linked};

const PROTOCOL: StreamProtocol = StreamProtocol::new("/latency-benchmark/stream/1");

pub(crate) struct Stream;

impl NodeWorkload for Stream {
    type Behaviour = Behaviour;

    fn behaviour(_: &Keypair) -> Result<Behaviour> {
        Ok(Behaviour::new())
    }

    async fn central(
        mut swarm: Linked<Behaviour>,
        load: Load,
        mut log: RequestLog,
    ) -> Result<Infallible> {
        let Pace::Outstanding(outstanding) = load.pace else {
            bail!("the workload stream has no rate: it sends as fast as it can");
        };
        let (tell, mut told) = mpsc::unbounded_channel();
        let clock = log.clock();
        let begin = |swarm: &Linked<Behaviour>, number: usize, stream: u32| {
            let sender = Sender {
                number,
                peer: swarm.peer(number),
                control: swarm.behaviour().new_control(),
                chunk: vec![0; load.payload.len()],
                outstanding: outstanding as usize,
            };
            let (tell, now_ns) = (tell.clone(), clock.clone());
            tokio::spawn(async move {
                let failed = sender.run(&tell, || now_ns.now_ns()).await;
                let error = failed.map_or_else(|error| error, |never| match never {});
                let _ = tell.send(Told::Broke {
                    peer: number,
                    stream,
                    error,
                });
            });
        };
        // How many each peer has had.
        let mut streams = vec![1; swarm.peers()];
        for (number, stream) in streams.iter().enumerate() {
            begin(&swarm, number, *stream);
        }
        loop {
            tokio::select! {
                seen = swarm.next() => if let LinkEvent::Back(number) = seen? {
                    streams[number] += 1;
                    begin(&swarm, number, streams[number]);
                },
                told = told.recv() => match told.ok_or_else(|| anyhow!("no stream is left"))? {
                    Told::Chunk { peer, since_ns } => {
                        log.answered(peer, since_ns, load.payload.bytes().into());
                    }
                    Told::Broke { error, .. } if !swarm.forgives() => return Err(error),
                    // A link whose only stream broke is as good as lost, if it is still the same.
                    Told::Broke { peer, stream, .. } if stream == streams[peer] => {
                        swarm.relink(peer);
                    }
                    Told::Broke { .. } => {}
                }
            }
        }
    }

    async fn peer(mut swarm: Swarm<Behaviour>, load: Load) -> Result<Infallible> {
        let mut incoming = swarm.behaviour().new_control().accept(PROTOCOL)?;
        loop {
            tokio::select! {
                _ = swarm.select_next_some() => {}
                Some((_, stream)) = incoming.next() => {
                    tokio::spawn(acknowledge_chunks(stream, load.payload.len()));
                }
            }
        }
    }
}

/// What the streams tell.
enum Told {
    /// A chunk was acknowledged.
    Chunk { peer: usize, since_ns: u64 },
    Broke {
        peer: usize,
        /// Which of the peer's, from 1.
        stream: u32,
        error: Error,
    },
}

struct Sender {
    number: usize,
    peer: PeerId,
    control: Control,
    chunk: Vec<u8>,
    outstanding: usize,
}

impl Sender {
    /// Sends while fewer than so many chunks are unacknowledged.
    async fn run(
        mut self,
        acknowledged: &mpsc::UnboundedSender<Told>,
        now_ns: impl Fn() -> u64,
    ) -> Result<Infallible> {
        let stream = self.control.open_stream(self.peer, PROTOCOL).await;
        let stream = stream.map_err(|error| anyhow!("no stream to {}: {error}", self.peer))?;
        let (mut reading, mut writing) = stream.split();
        let (sent, mut sent_since) = mpsc::channel(self.outstanding);
        let write = async {
            loop {
                // A place among the unacknowledged, before the chunk goes out.
                let place = sent.reserve().await.context("the reading side is gone")?;
                place.send(now_ns());
                writing.write_all(&self.chunk).await?;
                writing.flush().await?;
            }
        };
        let read = async {
            let mut byte = [0];
            loop {
                reading.read_exact(&mut byte).await?;
                let since_ns = sent_since
                    .recv()
                    .await
                    .context("the writing side is gone")?;
                let peer = self.number;
                acknowledged
                    .send(Told::Chunk { peer, since_ns })
                    .context("nobody listens")?;
            }
        };
        let broken: Result<Infallible> = tokio::select! {
            broken = write => broken,
            broken = read => broken,
        };
        broken.with_context(|| format!("the stream to {} broke", self.peer))
    }
}

async fn acknowledge_chunks(mut stream: libp2p::Stream, length: usize) -> Result<Infallible> {
    let mut chunk = vec![0; length];
    loop {
        stream.read_exact(&mut chunk).await?;
        stream.write_all(&[1]).await?;
        stream.flush().await?;
    }
}
