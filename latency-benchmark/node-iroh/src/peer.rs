//! A peer: echoes every request, or acknowledges chunks.

use std::convert::Infallible;

use anyhow::{Context, Result, bail};
use iroh::endpoint::{Incoming, RecvStream, SendStream};
use iroh::{Endpoint, SecretKey};
use node_kit::{count_chunks, listen_address};
use program::Failure;
use run_format::{Payload, PeerTask, Sizes, Workload};
use tokio::io::join;

use crate::gossip;
use crate::quic::endpoint;

pub(crate) async fn run(task: &PeerTask) -> Result<Infallible, Failure> {
    let at = listen_address(&task.listen)?;
    let key = task.identity.map(|seed| SecretKey::from_bytes(&seed));
    let local = endpoint(Some(at), key.unwrap_or_else(SecretKey::generate)).await?;
    let sockets = local.bound_sockets();
    let bound = sockets.first().context("iroh has no socket")?;
    node_kit::announce(&format!("{}@{bound}", local.id()));
    Ok(match task.node.workload {
        Workload::Gossipsub => gossip::serve(&local, task.load).await?,
        workload => serve(&local, workload, task.load.payload).await?,
    })
}

/// Serves everyone. It ends only with an error.
pub(crate) async fn serve(
    endpoint: &Endpoint,
    workload: Workload,
    payload: Payload,
) -> Result<Infallible> {
    while let Some(incoming) = endpoint.accept().await {
        // Central may be gone.
        tokio::spawn(async move { serve_one(incoming, workload, payload).await.ok() });
    }
    bail!("iroh has closed its socket")
}

async fn serve_one(incoming: Incoming, workload: Workload, payload: Payload) -> Result<Infallible> {
    let connection = incoming.await?;
    loop {
        let (sending, receiving) = connection.accept_bi().await?;
        tokio::spawn(async move {
            match workload {
                Workload::Stream => {
                    let stream = join(receiving, sending);
                    let _ = count_chunks(stream, &Sizes::one(payload)).await;
                }
                _ => drop(echo(sending, receiving, payload.len()).await),
            }
        });
    }
}

async fn echo(mut to: SendStream, mut from: RecvStream, payload: usize) -> Result<()> {
    to.write_all(&from.read_to_end(payload).await?).await?;
    Ok(to.finish()?)
}
