//! Request and response, as netperf's TCP_RR: central has one request at a time with each peer, over one
//! long stream, and the peer echoes it. What is not the request is what libp2p adds to it.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use anyhow::{Result, anyhow};
use futures::StreamExt;
use libp2p::{PeerId, StreamProtocol, Swarm, identity::Keypair};
use libp2p_stream::{Behaviour, Control};
use tokio::task::{AbortHandle, JoinSet};

use node_kit::RequestLog;
use run_format::config::Load;

use super::NodeWorkload;
use crate::{
    asker::{Asker, echo},
    linked::{LinkEvent, Linked},
};

const PROTOCOL: StreamProtocol = StreamProtocol::new("/latency-benchmark/rr/1");

pub(crate) struct Rr;

/// The stream to a peer, on which it echoes.
pub(crate) async fn open(mut control: Control, peer: PeerId) -> Result<libp2p::Stream> {
    let stream = control.open_stream(peer, PROTOCOL).await;
    stream.map_err(|error| anyhow!("no stream to {peer}: {error}"))
}

impl NodeWorkload for Rr {
    type Behaviour = Behaviour;

    fn behaviour(_: &Keypair) -> Result<Behaviour> {
        Ok(Behaviour::new())
    }

    async fn central(
        mut swarm: Linked<Behaviour>,
        load: Load,
        log: RequestLog,
    ) -> Result<Infallible> {
        let log = Arc::new(Mutex::new(log));
        let begin = |swarm: &Linked<Behaviour>, asking: &mut JoinSet<_>, number: usize| {
            let (control, peer) = (swarm.behaviour().new_control(), swarm.peer(number));
            let log = Arc::clone(&log);
            asking.spawn(async move {
                let broken = ask(control, number, peer, load, &log).await;
                let error = broken.map_or_else(|error| error, |never| match never {});
                (number, error.context(format!("the stream to {peer} broke")))
            })
        };
        let mut asking = JoinSet::new();
        // Of each peer, that which asks it.
        let mut askers: Vec<AbortHandle> = (0..swarm.peers())
            .map(|number| begin(&swarm, &mut asking, number))
            .collect();
        loop {
            tokio::select! {
                seen = swarm.next() => match seen? {
                    LinkEvent::Behaviour(()) => {}
                    LinkEvent::Lost(number) => askers[number].abort(),
                    LinkEvent::Back(number) => askers[number] = begin(&swarm, &mut asking, number),
                },
                Some(ended) = asking.join_next() => match ended {
                    Ok((_, error)) if !swarm.forgives() => return Err(error),
                    // A link whose only stream broke is as good as lost.
                    Ok((number, _)) => swarm.relink(number),
                    // Its peer was lost.
                    Err(error) if error.is_cancelled() => {}
                    Err(error) => return Err(error.into()),
                },
            }
        }
    }

    async fn peer(mut swarm: Swarm<Behaviour>, load: Load) -> Result<Infallible> {
        let mut incoming = swarm.behaviour().new_control().accept(PROTOCOL)?;
        loop {
            tokio::select! {
                _ = swarm.select_next_some() => {}
                Some((_, stream)) = incoming.next() => {
                    tokio::spawn(echo(stream, load.payload));
                }
            }
        }
    }
}

async fn ask(
    control: Control,
    number: usize,
    peer: PeerId,
    load: Load,
    log: &Mutex<RequestLog>,
) -> Result<Infallible> {
    let mut asker = Asker::new(open(control, peer).await?, load.payload);
    loop {
        asker.ask(number, log).await?;
    }
}
