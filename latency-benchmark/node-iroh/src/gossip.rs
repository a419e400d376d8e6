//! Every node publishes to one topic of iroh-gossip. Only central is connected to all, so it relays the messages. A message
//! that central receives counts as a request, and its latency is the time from publishing to receiving.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use iroh::endpoint::Connection;
use iroh::{Endpoint, EndpointId};
use iroh_gossip::api::{Event, GossipTopic};
use iroh_gossip::proto::{HyparviewConfig, PlumtreeConfig};
use iroh_gossip::{Gossip, TopicId};
use node_kit::{Deliveries, Publisher, RequestLog};
use run_format::{LARGEST_MESSAGE, Load};
use tokio::time::timeout;

use crate::quic::PROTOCOL;

const TOPIC: TopicId = TopicId::from_bytes([0; 32]);

/// Starts the gossip of a node. The mesh is a star: central has a place for every peer, and peers do not learn of each other,
/// since they could not reach each other. So no message comes twice, and none has to be kept for a peer that lacks it.
fn spawn(endpoint: Endpoint) -> Gossip {
    const NEVER: Duration = Duration::from_secs(24 * 3600);
    Gossip::builder()
        .alpn(PROTOCOL)
        .max_message_size(LARGEST_MESSAGE)
        .membership_config(HyparviewConfig {
            active_view_capacity: usize::from(u8::MAX),
            shuffle_interval: NEVER,
            ..HyparviewConfig::default()
        })
        .broadcast_config(PlumtreeConfig {
            message_cache_retention: Duration::from_secs(1),
            ..PlumtreeConfig::default()
        })
        .spawn(endpoint)
}

/// Central, once all peers are in the mesh.
pub(crate) struct Joined {
    /// The topic ends when this is dropped.
    _gossip: Gossip,
    topic: GossipTopic,
    /// The peers' numbers, from zero.
    numbers: HashMap<EndpointId, usize>,
}

impl Joined {
    pub(crate) async fn new(endpoint: Endpoint, connections: &[Connection]) -> Result<Joined> {
        const PATIENCE: Duration = Duration::from_secs(20);
        let gossip = spawn(endpoint);
        let peers: Vec<EndpointId> = connections
            .iter()
            .map(|connection| connection.remote_id())
            .collect();
        for connection in connections {
            gossip.handle_connection(connection.clone()).await?;
        }
        let mut topic = gossip.subscribe(TOPIC, peers.clone()).await?;
        let all_are_there = async {
            while topic.neighbors().count() < peers.len() {
                topic.next().await.context("the topic is closed")??;
            }
            anyhow::Ok(())
        };
        let joined = timeout(PATIENCE, all_are_there).await;
        joined.context("not all peers have joined the topic")??;
        Ok(Joined {
            _gossip: gossip,
            topic,
            numbers: peers.into_iter().zip(0..).collect(),
        })
    }

    /// Publishes and receives messages. It ends only with an error.
    pub(crate) async fn publish(self, load: Load, log: RequestLog) -> Result<Infallible> {
        let mut deliveries = Deliveries::new(log);
        let note = |event| match event {
            // In a star, a message comes from the peer that published it.
            Event::Received(message) => match self.numbers.get(&message.delivered_from) {
                Some(peer) => deliveries.note(*peer, &message.content),
                None => Ok(()),
            },
            Event::NeighborDown(peer) => bail!("peer {peer} has left the topic"),
            // The numbers of messages tell how many are missing.
            Event::NeighborUp(_) | Event::Lagged => Ok(()),
        };
        publish(self.topic, load, note).await
    }
}

/// Serves central. It ends only with an error.
pub(crate) async fn serve(endpoint: &Endpoint, load: Load) -> Result<Infallible> {
    let gossip = spawn(endpoint.clone());
    let topic = gossip.subscribe(TOPIC, Vec::new()).await?;
    let accept = async {
        while let Some(incoming) = endpoint.accept().await {
            // Central may be gone.
            if let Ok(connection) = incoming.await {
                gossip.handle_connection(connection).await?;
            }
        }
        bail!("iroh has closed its socket")
    };
    tokio::select! {
        failed = accept => failed,
        failed = publish(topic, load, |_| Ok(())) => failed,
    }
}

async fn publish(
    topic: GossipTopic,
    load: Load,
    mut note: impl FnMut(Event) -> Result<()>,
) -> Result<Infallible> {
    let (sender, mut receiver) = topic.split();
    let mut publisher = Publisher::new(load)?;
    loop {
        tokio::select! {
            event = receiver.next() => note(event.context("the topic is closed")??)?,
            message = publisher.due() => sender.broadcast(message?.into()).await?,
        }
    }
}
