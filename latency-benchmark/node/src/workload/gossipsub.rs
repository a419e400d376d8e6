//! Every node publishes to one topic. Only central is connected to all, so it relays the messages. A message that central
//! receives counts as a request, and its latency is the time from publishing to receiving.

use std::convert::Infallible;

use anyhow::{Result, anyhow};
use futures::StreamExt;
use libp2p::Swarm;
use libp2p::gossipsub::{
    Behaviour, ConfigBuilder, Event, IdentTopic, MessageAuthenticity, PublishError,
};
use libp2p::identity::Keypair;

use node_kit::{Deliveries, Publisher, RequestLog};
use run_format::{LARGEST_MESSAGE, Load, Part};

use super::NodeWorkload;
use crate::peer_swarm::{PeerEvent, PeerSwarm};

pub(crate) struct Gossipsub;

impl NodeWorkload for Gossipsub {
    type Behaviour = Behaviour;

    fn behaviour(key: &Keypair) -> Result<Behaviour> {
        let config = ConfigBuilder::default()
            .max_transmit_size(LARGEST_MESSAGE)
            .build()
            .map_err(|error| anyhow!("gossipsub: {error}"))?;
        Behaviour::new(MessageAuthenticity::Signed(key.clone()), config)
            .map_err(|error| anyhow!("gossipsub: {error}"))
    }

    async fn central(
        mut peer_swarm: PeerSwarm<Behaviour>,
        _: Vec<Part>,
        load: Load,
        log: RequestLog,
    ) -> Result<Infallible> {
        let mut publisher = begin(peer_swarm.swarm.behaviour_mut(), load)?;
        let mut deliveries = Deliveries::new(log);
        loop {
            tokio::select! {
                event = peer_swarm.next() => {
                    if let PeerEvent::Behaviour(Event::Message { message, .. }) = event?
                        && let Some(origin) = message.source.and_then(|id| peer_swarm.number(&id))
                    {
                        deliveries.note(origin, &message.data)?;
                    }
                }
                message = publisher.due() => publish(peer_swarm.swarm.behaviour_mut(), message?)?,
            }
        }
    }

    async fn peer(mut swarm: Swarm<Behaviour>, _: Vec<Part>, load: Load) -> Result<Infallible> {
        let mut publisher = begin(swarm.behaviour_mut(), load)?;
        loop {
            tokio::select! {
                _ = swarm.select_next_some() => {}
                message = publisher.due() => publish(swarm.behaviour_mut(), message?)?,
            }
        }
    }
}

fn topic() -> IdentTopic {
    IdentTopic::new("latency-benchmark")
}

fn begin(behaviour: &mut Behaviour, load: Load) -> Result<Publisher> {
    behaviour.subscribe(&topic())?;
    Publisher::new(load)
}

/// Publishes a message. It is no error if nobody has subscribed yet or the queues are full. Releases of libp2p name the first
/// of these differently, so the other errors are listed.
fn publish(behaviour: &mut Behaviour, message: Vec<u8>) -> Result<()> {
    match behaviour.publish(topic(), message) {
        Err(
            error @ (PublishError::Duplicate
            | PublishError::SigningError(_)
            | PublishError::MessageTooLarge
            | PublishError::TransformFailed(_)),
        ) => Err(anyhow!("gossipsub: {error}")),
        _ => Ok(()),
    }
}
