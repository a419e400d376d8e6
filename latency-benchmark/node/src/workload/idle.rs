//! Nodes that only keep in touch, with ping and identify. A ping counts as a request.

use std::convert::Infallible;

use anyhow::{Result, bail};
use libp2p::identity::Keypair;
use libp2p::swarm::NetworkBehaviour;
use libp2p::{identify, ping};

use node_kit::RequestLog;
use run_format::{Load, Part};

use super::NodeWorkload;
use crate::peer_swarm::{PeerEvent, PeerSwarm};

pub(crate) struct Idle;

#[derive(NetworkBehaviour)]
#[behaviour(prelude = "libp2p::swarm::derive_prelude")]
pub(crate) struct KeepInTouch {
    ping: ping::Behaviour,
    identify: identify::Behaviour,
}

impl NodeWorkload for Idle {
    type Behaviour = KeepInTouch;

    fn behaviour(key: &Keypair) -> Result<KeepInTouch> {
        let identify = identify::Config::new("/latency-benchmark/idle/1".to_owned(), key.public());
        Ok(KeepInTouch {
            ping: ping::Behaviour::default(),
            identify: identify::Behaviour::new(identify),
        })
    }

    async fn central(
        mut swarm: PeerSwarm<KeepInTouch>,
        _: Vec<Part>,
        _: Load,
        mut log: RequestLog,
    ) -> Result<Infallible> {
        loop {
            let PeerEvent::Behaviour(KeepInTouchEvent::Ping(ping)) = swarm.next().await? else {
                continue;
            };
            match (ping.result, swarm.number(&ping.peer)) {
                (Ok(took), Some(number)) => {
                    log.answered(number, log.ns_ago(took), 2 * PING_BYTES);
                }
                (Err(error), _) if !swarm.forgives() => {
                    bail!("a ping to {} failed: {error}", ping.peer)
                }
                (Ok(_) | Err(_), _) => {}
            }
        }
    }
}

/// The number of bytes that the protocol ping sends in each direction.
pub(super) const PING_BYTES: u64 = 32;
