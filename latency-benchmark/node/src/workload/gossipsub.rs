//! Every node publishes to one topic, and central, which alone is linked to all, relays. A request
//! is a message that central receives; its latency is from publishing to receiving, by the one
//! monotonic clock that all processes of a machine share.

use std::{convert::Infallible, time::Duration};

use anyhow::{Result, anyhow, ensure};
use futures::StreamExt;
use libp2p::{
    Swarm,
    gossipsub::{
        self, Behaviour, ConfigBuilder, Event, IdentTopic, Message, MessageAuthenticity,
        PublishError,
    },
    identity::Keypair,
};
use nix::time::{ClockId, clock_gettime};
use tokio::time::{Interval, MissedTickBehavior, interval};

use node_kit::RequestLog;
use run_format::config::{Load, Pace};

use super::NodeWorkload;
use crate::linked::{LinkEvent, Linked};

pub(crate) struct Gossipsub;

/// The time of publishing comes first in a message.
const STAMP: usize = 8;

impl NodeWorkload for Gossipsub {
    type Behaviour = Behaviour;

    fn behaviour(key: &Keypair) -> Result<Behaviour> {
        const LARGEST: usize = (16 << 20) + 1024;
        let config = ConfigBuilder::default()
            .max_transmit_size(LARGEST)
            .build()
            .map_err(|error| anyhow!("gossipsub: {error}"))?;
        Behaviour::new(MessageAuthenticity::Signed(key.clone()), config)
            .map_err(|error| anyhow!("gossipsub: {error}"))
    }

    async fn central(
        mut swarm: Linked<Behaviour>,
        load: Load,
        mut log: RequestLog,
    ) -> Result<Infallible> {
        let (mut publisher, mut turns) = Publisher::begin(swarm.behaviour_mut(), load)?;
        loop {
            tokio::select! {
                seen = swarm.next() => {
                    if let LinkEvent::Behaviour(Event::Message { message, .. }) = seen? {
                        note(&mut log, &swarm, &message)?;
                    }
                }
                _ = turns.tick() => publisher.publish(swarm.behaviour_mut())?,
            }
        }
    }

    async fn peer(mut swarm: Swarm<Behaviour>, load: Load) -> Result<Infallible> {
        let (mut publisher, mut turns) = Publisher::begin(swarm.behaviour_mut(), load)?;
        loop {
            tokio::select! {
                _ = swarm.select_next_some() => {}
                _ = turns.tick() => publisher.publish(swarm.behaviour_mut())?,
            }
        }
    }
}

/// A message is a request of the peer that it came from.
fn note(log: &mut RequestLog, swarm: &Linked<Behaviour>, message: &Message) -> Result<()> {
    let origin = message.source.and_then(|source| swarm.number(&source));
    if let (Some(peer), Some(stamp)) = (origin, message.data.first_chunk::<STAMP>()) {
        let age_ns = monotonic_ns()?.saturating_sub(u64::from_be_bytes(*stamp));
        let since_ns = log.now_ns().saturating_sub(age_ns);
        log.answered(peer, since_ns, message.data.len() as u64);
    }
    Ok(())
}

struct Publisher {
    topic: IdentTopic,
    message: Vec<u8>,
}

impl Publisher {
    /// Subscribes, too. With it come the times to publish at.
    fn begin(behaviour: &mut Behaviour, load: Load) -> Result<(Publisher, Interval)> {
        let Pace::PerSecond(rate) = load.pace else {
            return Err(anyhow!("the workload gossipsub needs a rate"));
        };
        ensure!(
            load.payload.len() >= STAMP,
            "a message of the workload gossipsub has at least {STAMP} bytes"
        );
        let topic = IdentTopic::new("latency-benchmark");
        behaviour.subscribe(&topic)?;
        let mut turns = interval(Duration::from_secs_f64(1.0 / rate));
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let message = vec![0; load.payload.len()];
        Ok((Publisher { topic, message }, turns))
    }

    fn publish(&mut self, behaviour: &mut Behaviour) -> Result<()> {
        self.message[..STAMP].copy_from_slice(&monotonic_ns()?.to_be_bytes());
        let topic = gossipsub::TopicHash::from(self.topic.clone());
        let published = behaviour.publish(topic, self.message.clone());
        published.map(drop).or_else(forgive)
    }
}

/// That nobody has subscribed yet, which every release calls otherwise, or that the queues are full, is the
/// network's state.
fn forgive(error: PublishError) -> Result<()> {
    match error {
        PublishError::Duplicate
        | PublishError::SigningError(_)
        | PublishError::MessageTooLarge
        | PublishError::TransformFailed(_) => Err(anyhow!("gossipsub: {error}")),
        _ => Ok(()),
    }
}

fn monotonic_ns() -> Result<u64> {
    let now = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC)?);
    Ok(u64::try_from(now.as_nanos())?)
}
