//! Central: one connection to each peer, with requests on streams of their own.

use std::{convert::Infallible, future::Future, net::SocketAddr, pin::Pin, time::Duration};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use futures::{StreamExt, stream::FuturesUnordered};
use h2::client::{self, SendRequest};
use http::Request;
use node_kit::{Central, RequestLog};
use run_format::{
    config::{Load, Pace},
    protocol::Measured,
};
use tokio::{net::TcpStream, time::interval};

use crate::{CONNECTION_WINDOW, STREAM_WINDOW, whole};

pub(crate) fn run(central: Central, peers: Vec<SocketAddr>) -> Result<Measured> {
    let (spawn, connections) = (central.spawner(), central.connections());
    central.run(async move |task| {
        let mut senders = Vec::new();
        for peer in peers {
            connections.dialled();
            let stream = TcpStream::connect(peer).await;
            let stream = stream.with_context(|| format!("cannot connect to {peer}"))?;
            stream.set_nodelay(true)?;
            let (sender, connection) = client::Builder::new()
                .initial_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .handshake(stream)
                .await
                .with_context(|| format!("no HTTP/2 with {peer}"))?;
            // If it fails, so do its requests.
            spawn(Box::pin(async move {
                let _ = connection.await;
            }));
            connections.opened(true);
            senders.push(sender);
        }
        let load = task.config.load;
        Ok(move |log| {
            let work: Pin<Box<dyn Future<Output = Result<Infallible>>>> =
                Box::pin(work(senders, load, log));
            Ok(work)
        })
    })
}

/// In an open loop, requests pile up where the rate is too high. So many are allowed to.
const MOST_UNANSWERED: usize = 4096;

async fn work(
    senders: Vec<SendRequest<Bytes>>,
    load: Load,
    mut log: RequestLog,
) -> Result<Infallible> {
    let request = Bytes::from(vec![0; load.payload.len()]);
    let ask = |peer: usize, since_ns| ask(senders[peer].clone(), request.clone(), peer, since_ns);
    let (outstanding, rate) = match load.pace {
        Pace::Outstanding(outstanding) => (outstanding as usize, None),
        Pace::PerSecond(rate) => (0, Some(rate * senders.len() as f64)),
    };
    let peers = (0..outstanding).flat_map(|_| 0..senders.len());
    let mut asked: FuturesUnordered<_> = peers.map(|peer| ask(peer, log.now_ns())).collect();
    // A tick that is late is not left out.
    let mut due = interval(Duration::from_secs_f64(rate.map_or(1.0, |rate| 1.0 / rate)));
    let mut next = 0;
    loop {
        tokio::select! {
            Some(answered) = asked.next() => {
                let (peer, since_ns) = answered?;
                log.answered(peer, since_ns, 2 * request.len() as u64);
                if rate.is_none() {
                    asked.push(ask(peer, log.now_ns()));
                }
            }
            at = due.tick(), if rate.is_some() => {
                ensure!(
                    asked.len() < MOST_UNANSWERED,
                    "{MOST_UNANSWERED} requests are unanswered: the rate is more than the peers can take"
                );
                let late_ns = at.elapsed().as_nanos() as u64;
                asked.push(ask(next, log.now_ns().saturating_sub(late_ns)));
                next = (next + 1) % senders.len();
            }
        }
    }
}

/// Sends a request and waits for all of its answer. Returns whom it asked, and since when.
async fn ask(
    sender: SendRequest<Bytes>,
    request: Bytes,
    peer: usize,
    since_ns: u64,
) -> Result<(usize, u64)> {
    let (sent, ended) = (request.len(), || {
        format!("a request to peer {} failed", peer + 1)
    });
    let answer = async {
        let (answer, mut stream) = sender
            .ready()
            .await?
            .send_request(Request::new(()), false)?;
        stream.send_data(request, true)?;
        whole(answer.await?.into_body()).await
    };
    let answer = answer.await.with_context(ended)?;
    ensure!(
        answer.len() == sent,
        "asked for {sent} bytes and got {}",
        answer.len()
    );
    Ok((peer, since_ns))
}
