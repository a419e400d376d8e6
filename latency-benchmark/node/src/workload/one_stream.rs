//! Central works each peer over one long stream, by a task of its own.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use anyhow::{Result, anyhow};
use futures::StreamExt;
use libp2p::{PeerId, Stream, StreamProtocol, Swarm};
use libp2p_stream::{Behaviour, Control};
use node_kit::RequestLog;
use tokio::task::{AbortHandle, JoinSet};

use crate::linked::{LinkEvent, Linked};

pub(crate) async fn open(
    mut control: Control,
    protocol: StreamProtocol,
    peer: PeerId,
) -> Result<Stream> {
    let stream = control.open_stream(peer, protocol).await;
    stream.map_err(|error| anyhow!("no stream to {peer}: {error}"))
}

/// Works each peer by `ask`, with its number, its stream and where to note what was answered.
pub(super) async fn central<F>(
    mut swarm: Linked<Behaviour>,
    protocol: StreamProtocol,
    log: RequestLog,
    ask: impl Fn(usize, Stream, Arc<Mutex<RequestLog>>) -> F + Clone + Send + 'static,
) -> Result<Infallible>
where
    F: Future<Output = Result<Infallible>> + Send,
{
    let log = Arc::new(Mutex::new(log));
    let begin = |swarm: &Linked<Behaviour>, asking: &mut JoinSet<_>, number: usize| {
        let (control, peer) = (swarm.behaviour().new_control(), swarm.peer(number));
        let (log, ask, protocol) = (Arc::clone(&log), ask.clone(), protocol.clone());
        asking.spawn(async move {
            let stream = open(control, protocol, peer).await;
            let broken = match stream {
                Ok(stream) => ask(number, stream, log).await,
                Err(error) => Err(error),
            };
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
            Some(ended) = asking.join_next_with_id() => match ended {
                Ok((_, (_, error))) if !swarm.forgives() => return Err(error),
                // A link whose only stream broke is as good as lost, if it is still the same.
                Ok((id, (number, _))) if id == askers[number].id() => swarm.relink(number),
                Ok(_) => {}
                // Its peer was lost.
                Err(error) if error.is_cancelled() => {}
                Err(error) => return Err(error.into()),
            },
        }
    }
}

/// Answers each stream by `answer`.
pub(super) async fn peer<F>(
    mut swarm: Swarm<Behaviour>,
    protocol: StreamProtocol,
    answer: impl Fn(Stream) -> F,
) -> Result<Infallible>
where
    F: Future<Output: Send> + Send + 'static,
{
    let mut incoming = swarm.behaviour().new_control().accept(protocol)?;
    loop {
        tokio::select! {
            _ = swarm.select_next_some() => {}
            Some((_, stream)) = incoming.next() => {
                tokio::spawn(answer(stream));
            }
        }
    }
}
