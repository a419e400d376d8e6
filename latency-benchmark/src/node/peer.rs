//! A peer: listens, says where, and serves central until it is killed.

use std::{convert::Infallible, io::Write};

use anyhow::{Context, Result};
use libp2p::{Multiaddr, identity::Keypair};
use serde::{Deserialize, Serialize};
use tokio::runtime;

use super::{
    beside_tcp, swarm,
    workload::{Gossipsub, Idle, RequestResponse, Rr, Stream, Workload},
};
use crate::config::{self, Load, NodeConfig};

/// What a peer is to be.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PeerTask {
    pub(crate) node: NodeConfig,
    pub(crate) load: Load,
    /// What its key comes from, by which it is known again after a restart; none for a key of chance.
    pub(crate) identity: Option<[u8; 32]>,
}

/// Serves. The first line on standard output is the address to dial.
pub(crate) fn run(task: &PeerTask, listen: Multiaddr) -> Result<Infallible> {
    let (node, load) = (task.node, task.load);
    let key = match task.identity {
        Some(seed) => {
            Keypair::ed25519_from_bytes(seed).context("no key comes from the identity")?
        }
        None => Keypair::generate_ed25519(),
    };
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match node.workload {
            config::Workload::RequestResponse => {
                serve::<RequestResponse>(node, load, key, listen).await
            }
            config::Workload::Stream => serve::<Stream>(node, load, key, listen).await,
            config::Workload::Gossipsub => serve::<Gossipsub>(node, load, key, listen).await,
            config::Workload::Idle => serve::<Idle>(node, load, key, listen).await,
            config::Workload::Rr => serve::<Rr>(node, load, key, listen).await,
            config::Workload::RrBesideTcp => {
                beside_tcp::serve(&listen, load).await?;
                serve::<Rr>(node, load, key, listen).await
            }
        }
    })
}

async fn serve<W: Workload>(
    node: NodeConfig,
    load: Load,
    key: Keypair,
    listen: Multiaddr,
) -> Result<Infallible> {
    let spawn = |task| {
        tokio::spawn(task);
    };
    let mut swarm = swarm::build(node, &key, W::behaviour(&key)?, spawn)?;
    let address = swarm::listen(&mut swarm, listen).await?;
    let mut out = std::io::stdout();
    writeln!(out, "{address}")?;
    out.flush()?;
    W::peer(swarm, load).await
}
