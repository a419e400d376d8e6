//! A peer: listens, reports its address, and serves central until it is killed.

use std::convert::Infallible;

use anyhow::{Context, Result};
use libp2p::Multiaddr;
use libp2p::identity::Keypair;
use libp2p::multiaddr::Protocol;
use program::{Failure, bad_input};
use run_format::{Listen, Measurement, PeerTask, Transport};

use crate::workload::{NodeWorkload, with_workload};
use crate::{beside_tcp, swarm};

pub(crate) async fn run(task: &PeerTask) -> Result<Infallible, Failure> {
    let listen = address(task)?;
    let key = match task.identity {
        Some(seed) => Keypair::ed25519_from_bytes(seed).context("the identity is no key")?,
        None => Keypair::generate_ed25519(),
    };
    if task.measurement == Measurement::Libp2pAndRawTcp {
        beside_tcp::serve(&listen, task.load).await?;
    }
    let served = with_workload!(task.node, W => serve::<W>(task, key, listen).await);
    Ok(served?)
}

/// The address at which to listen. The last part of an address that a peer has printed names the peer and is left out.
fn address(task: &PeerTask) -> Result<Multiaddr, Failure> {
    match &task.listen {
        Listen::Ip(ip) => {
            let at = Multiaddr::from(*ip);
            Ok(match task.node.transport {
                Transport::Tcp => at.with(Protocol::Tcp(0)),
                Transport::Quic => at.with(Protocol::Udp(0)).with(Protocol::QuicV1),
            })
        }
        Listen::Address(text) => {
            let address: Multiaddr = text
                .parse()
                .with_context(|| format!("{text}: not a multiaddr"))
                .map_err(bad_input)?;
            let parts = address.iter();
            Ok(parts
                .filter(|part| !matches!(part, Protocol::P2p(_)))
                .collect())
        }
    }
}

async fn serve<W: NodeWorkload>(
    task: &PeerTask,
    key: Keypair,
    listen: Multiaddr,
) -> Result<Infallible> {
    let spawn = |task| {
        tokio::spawn(task);
    };
    let transport = swarm::transport(&task.node, &key)?;
    let mut swarm = swarm::build(transport, &key, W::behaviour(&key)?, spawn);
    let address = swarm::listen(&mut swarm, listen).await?;
    node_kit::announce(&address.to_string());
    W::peer(swarm, task.node.parts(task.load), task.load).await
}
