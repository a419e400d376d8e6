//! Request and response, as netperf's TCP_RR: central has one request at a time with each peer, over one
//! long stream, and the peer echoes it. What is not the request is what libp2p adds to it.

use std::convert::Infallible;

use anyhow::Result;
use libp2p::{StreamProtocol, Swarm, identity::Keypair};
use libp2p_stream::Behaviour;
use node_kit::RequestLog;
use run_format::config::Load;

use super::{NodeWorkload, one_stream};
use crate::{
    asker::{Asker, echo},
    linked::Linked,
};

pub(crate) const PROTOCOL: StreamProtocol = StreamProtocol::new("/latency-benchmark/rr/1");

pub(crate) struct Rr;

impl NodeWorkload for Rr {
    type Behaviour = Behaviour;

    fn behaviour(_: &Keypair) -> Result<Behaviour> {
        Ok(Behaviour::new())
    }

    async fn central(swarm: Linked<Behaviour>, load: Load, log: RequestLog) -> Result<Infallible> {
        one_stream::central(
            swarm,
            PROTOCOL,
            log,
            move |number, stream, log| async move {
                let mut asker = Asker::new(stream, load.payload, log);
                loop {
                    asker.ask(number).await?;
                }
            },
        )
        .await
    }

    async fn peer(swarm: Swarm<Behaviour>, load: Load) -> Result<Infallible> {
        one_stream::peer(swarm, PROTOCOL, move |stream| echo(stream, load.payload)).await
    }
}
