//! Central has one connection to each peer. Each request has a stream of its own. All chunks go over one stream.

use std::convert::Infallible;
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use iroh::endpoint::Connection;
use iroh::{EndpointAddr, SecretKey};
use node_kit::{Central, RequestLog, SendTimes, ask_at_pace, send_chunks};
use run_format::{Load, Measured, Part, Workload};
use tokio::time::Instant;

use crate::gossip::Joined;
use crate::quic::{PROTOCOL, endpoint};

pub(crate) fn run(central: Central, peers: Vec<EndpointAddr>) -> Result<Measured> {
    let counts = central.connections();
    central.run(async move |task| {
        let local = endpoint(None, SecretKey::generate()).await?;
        let mut connections = Vec::new();
        for (peer, at) in task.peers.iter().zip(peers) {
            counts.dialled();
            let connection = local.connect(at, PROTOCOL).await;
            connections.push(connection.with_context(|| format!("cannot connect to {peer}"))?);
            counts.opened(true);
        }
        let (load, workload) = (task.config.load, task.config.node.workload);
        let joined = match workload {
            Workload::Gossipsub => Some(Joined::new(local.clone(), &connections).await?),
            _ => None,
        };
        Ok(async move |log: RequestLog| -> Result<Infallible> {
            // When the local endpoint is dropped, its connections end.
            let _local = local;
            match (joined, workload) {
                (Some(joined), _) => joined.publish(load, log).await,
                (_, Workload::Stream) => stream(&connections, load, log).await,
                _ => {
                    let request = vec![0; load.payload.len()];
                    let ask_peer = |peer: usize| ask(&connections[peer], &request);
                    ask_at_pace(connections.len(), load, log, ask_peer).await
                }
            }
        })
    })
}

/// Sends a request and waits for the whole answer, which must be as long.
pub(crate) async fn ask(connection: &Connection, request: &[u8]) -> Result<Vec<u8>> {
    let (mut sending, mut receiving) = connection.open_bi().await?;
    sending.write_all(request).await?;
    sending.finish()?;
    let answer = receiving.read_to_end(request.len()).await?;
    let (sent, got) = (request.len(), answer.len());
    ensure!(got == sent, "asked for {sent} bytes and got {got}");
    Ok(answer)
}

/// Sends chunks over one stream to each peer. It ends only with an error.
async fn stream(connections: &[Connection], load: Load, log: RequestLog) -> Result<Infallible> {
    let (part, log) = (Part::whole(Workload::Stream, load), Mutex::new(log));
    let numbered = connections.iter().enumerate();
    let streams = numbered.map(|(peer, connection)| {
        let (part, log) = (&part, &log);
        let asked = async move {
            let (sending, receiving) = connection.open_bi().await?;
            let times = SendTimes::new(part, Instant::now());
            send_chunks(part, times, peer, (receiving, sending), log, |_| false).await
        };
        async move {
            let broken = || format!("the stream to peer {} broke", peer + 1);
            asked.await.with_context(broken)
        }
    });
    let mut streams: FuturesUnordered<_> = streams.collect();
    streams.next().await.context("there are no peers")?
}
