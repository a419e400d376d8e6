//! A peer: listens, says where, and serves central until it is killed.

use std::{convert::Infallible, io::Write};

use anyhow::Result;
use libp2p::{Multiaddr, identity::Keypair};
use tokio::runtime;

use super::{
    swarm,
    workload::{Gossipsub, Idle, RequestResponse, Stream, Workload},
};
use crate::config::{self, Load, NodeConfig};

/// Serves. The first line on standard output is the address to dial.
pub(crate) fn run(node: NodeConfig, load: Load, listen: Multiaddr) -> Result<Infallible> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match node.workload {
            config::Workload::RequestResponse => serve::<RequestResponse>(node, load, listen).await,
            config::Workload::Stream => serve::<Stream>(node, load, listen).await,
            config::Workload::Gossipsub => serve::<Gossipsub>(node, load, listen).await,
            config::Workload::Idle => serve::<Idle>(node, load, listen).await,
        }
    })
}

async fn serve<W: Workload>(node: NodeConfig, load: Load, listen: Multiaddr) -> Result<Infallible> {
    let key = Keypair::generate_ed25519();
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
