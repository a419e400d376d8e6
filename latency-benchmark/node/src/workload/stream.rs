//! Central sends chunks over one long stream per peer; a peer acknowledges each with a byte. A
//! request is a chunk.

use std::{convert::Infallible, sync::Mutex};

use anyhow::{Context, Result, bail};
use futures::{AsyncReadExt, AsyncWriteExt};
use libp2p::{StreamProtocol, Swarm, identity::Keypair};
use libp2p_stream::Behaviour;
use node_kit::{RequestLog, locked};
use run_format::{
    config::{Load, Pace},
    payload::Payload,
};
use tokio::sync::mpsc;

use super::{NodeWorkload, one_stream};
use crate::linked::Linked;

const PROTOCOL: StreamProtocol = StreamProtocol::new("/latency-benchmark/stream/1");

pub(crate) struct Stream;

impl NodeWorkload for Stream {
    type Behaviour = Behaviour;

    fn behaviour(_: &Keypair) -> Result<Behaviour> {
        Ok(Behaviour::new())
    }

    async fn central(swarm: Linked<Behaviour>, load: Load, log: RequestLog) -> Result<Infallible> {
        let Pace::Outstanding(outstanding) = load.pace else {
            bail!("the workload stream has no rate: it sends as fast as it can");
        };
        one_stream::central(
            swarm,
            PROTOCOL,
            log,
            move |number, stream, log| async move {
                chunks(number, stream, (load.payload, outstanding as usize), &log).await
            },
        )
        .await
    }

    async fn peer(swarm: Swarm<Behaviour>, load: Load) -> Result<Infallible> {
        one_stream::peer(swarm, PROTOCOL, move |stream| {
            acknowledge_chunks(stream, load.payload.len())
        })
        .await
    }
}

/// Sends chunks while fewer than `outstanding` are unacknowledged.
async fn chunks(
    peer: usize,
    stream: libp2p::Stream,
    (payload, outstanding): (Payload, usize),
    log: &Mutex<RequestLog>,
) -> Result<Infallible> {
    let (mut reading, mut writing) = stream.split();
    let chunk = vec![0; payload.len()];
    let clock = locked(log).clock();
    let (sent, mut sent_since) = mpsc::channel(outstanding);
    let write = async {
        loop {
            // A place among the unacknowledged, before the chunk goes out.
            let place = sent.reserve().await.context("the reading side is gone")?;
            place.send(clock.now_ns());
            writing.write_all(&chunk).await?;
            writing.flush().await?;
        }
    };
    let read = async {
        let mut byte = [0];
        loop {
            reading.read_exact(&mut byte).await?;
            let since_ns = sent_since.recv().await;
            let since_ns = since_ns.context("the writing side is gone")?;
            locked(log).answered(peer, since_ns, payload.bytes().into());
        }
    };
    tokio::select! {
        broken = write => broken,
        broken = read => broken,
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
