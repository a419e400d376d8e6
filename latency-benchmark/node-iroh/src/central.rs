//! Central: one connection to each peer. Each request has a stream of its own, or all chunks go over one.

use std::{cell::RefCell, convert::Infallible};

use anyhow::{Context, Result, bail, ensure};
use futures::{StreamExt, stream::FuturesUnordered};
use iroh::{EndpointAddr, SecretKey, endpoint::Connection};
use node_kit::{Central, RequestLog, ask_at_pace};
use run_format::{
    config::{Load, Pace, Workload},
    protocol::Measured,
};
use tokio::sync::mpsc;

use crate::{
    gossip::Joined,
    quic::{PROTOCOL, endpoint, send_all, whole},
};

pub(crate) fn run(central: Central, peers: Vec<EndpointAddr>) -> Result<Measured> {
    let counts = central.connections();
    central.run(async move |task| {
        let endpoint = endpoint(None, SecretKey::generate()).await?;
        let mut connections = Vec::new();
        for (peer, at) in task.peers.iter().zip(peers) {
            counts.dialled();
            let connection = endpoint.connect(at, PROTOCOL).await;
            connections.push(connection.with_context(|| format!("cannot connect to {peer}"))?);
            counts.opened(true);
        }
        let (load, workload) = (task.config.load, task.config.node.workload);
        let joined = match workload {
            Workload::Gossipsub => Some(Joined::new(endpoint.clone(), &connections).await?),
            _ => None,
        };
        Ok(async move |log: RequestLog| -> Result<Infallible> {
            // Without it, its connections end.
            let _endpoint = endpoint;
            match (joined, workload) {
                (Some(joined), _) => joined.publish(load, log).await,
                (_, Workload::Stream) => stream(&connections, load, log).await,
                _ => {
                    let request = vec![0; load.payload.len()];
                    let ask = |peer: usize| ask(&connections[peer], &request);
                    ask_at_pace(connections.len(), load, log, ask).await
                }
            }
        })
    })
}

/// Sends a request and waits for all of its answer, which is as long.
pub async fn ask(connection: &Connection, request: &[u8]) -> Result<Vec<u8>> {
    let (sending, receiving) = connection.open_bi().await?;
    send_all(sending, request).await?;
    let answer = whole(receiving, request.len()).await?;
    ensure!(
        answer.len() == request.len(),
        "asked for {} bytes and got {}",
        request.len(),
        answer.len()
    );
    Ok(answer)
}

/// Sends chunks over one stream to each peer. It ends only with an error.
async fn stream(connections: &[Connection], load: Load, log: RequestLog) -> Result<Infallible> {
    let Pace::Outstanding(outstanding) = load.pace else {
        bail!("the workload stream has no rate: it sends as fast as it can");
    };
    let log = RefCell::new(log);
    let numbered = connections.iter().enumerate();
    let streams = numbered.map(|(peer, connection)| {
        let log = &log;
        async move {
            let broken = chunks(peer, connection, load, outstanding as usize, log).await;
            broken.with_context(|| format!("the stream to peer {} broke", peer + 1))
        }
    });
    let mut streams: FuturesUnordered<_> = streams.collect();
    streams.next().await.context("there are no peers")?
}

/// Sends chunks while fewer than `outstanding` are unacknowledged.
async fn chunks(
    peer: usize,
    connection: &Connection,
    load: Load,
    outstanding: usize,
    log: &RefCell<RequestLog>,
) -> Result<Infallible> {
    let (mut sending, mut receiving) = connection.open_bi().await?;
    let chunk = vec![0; load.payload.len()];
    let (sent, mut sent_since) = mpsc::channel(outstanding);
    let send = async {
        loop {
            // A place among the unacknowledged, before the chunk goes out.
            let place = sent.reserve().await.context("nobody reads")?;
            place.send(log.borrow().now_ns());
            sending.write_all(&chunk).await?;
        }
    };
    let receive = async {
        let mut byte = [0];
        loop {
            receiving.read_exact(&mut byte).await?;
            let since_ns = sent_since.recv().await.context("nobody writes")?;
            let bytes = load.payload.bytes().into();
            log.borrow_mut().answered(peer, since_ns, bytes);
        }
    };
    tokio::select! {
        broken = send => broken,
        broken = receive => broken,
    }
}
