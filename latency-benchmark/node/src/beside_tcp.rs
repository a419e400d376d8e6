//! The workload `rr` and its baseline, which sends the same requests between the same processes over TCP sockets without
//! libp2p. The two take turns.

use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use futures::StreamExt;
use libp2p::Multiaddr;
use libp2p::identity::Keypair;
use node_kit::{Central, PathUser, RequestLog, TrafficPath};
use run_format::{Load, Measured, Sizes};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::asker::{Asker, echo};
use crate::swarm::{self, refuse_loss};
use crate::workload::{NodeWorkload, Streams, open};

/// Answers requests on TCP sockets, at the IP address of `listen`, where the swarm will listen.
pub(crate) async fn serve(listen: &Multiaddr, load: Load) -> Result<()> {
    let address = swarm::raw_tcp_address(listen)?;
    let cannot = || format!("cannot listen on {address}");
    let listener = TcpListener::bind(address).await.with_context(cannot)?;
    tokio::spawn(async move {
        loop {
            // If a connection is not accepted, the kernel tells the client.
            if let Ok((socket, _)) = listener.accept().await
                && socket.set_nodelay(true).is_ok()
            {
                tokio::spawn(async move { echo(socket, &Sizes::one(load.payload)).await });
            }
        }
    });
    Ok(())
}

/// Connects to every peer over both paths, which take turns.
pub(crate) fn run(
    central: Central,
    path_user: PathUser,
    peers: Vec<Multiaddr>,
) -> Result<Measured> {
    let (spawn, connections) = (central.spawner(), central.connections());
    central.run(async move |task| {
        let (node, load) = (&task.config.node, task.config.load);
        let key = Keypair::generate_ed25519();
        let transport = swarm::transport(node, &key)?;
        let mut swarm = swarm::build(transport, &key, Streams::behaviour(&key)?, spawn);
        let peers = swarm::connect(&mut swarm, &peers, &connections).await?;
        let mut sockets = Vec::new();
        for (_, at) in &peers {
            let at = swarm::raw_tcp_address(at)?;
            let cannot = || format!("cannot connect to {at}");
            let socket = TcpStream::connect(at).await.with_context(cannot)?;
            socket.set_nodelay(true)?;
            sockets.push(socket);
        }
        Ok(async move |log: RequestLog| -> Result<Infallible> {
            let log = Arc::new(Mutex::new(log));
            let mut asking = JoinSet::new();
            for (peer, ((id, _), socket)) in peers.into_iter().zip(sockets).enumerate() {
                let client = |path| Client {
                    path,
                    peer,
                    load,
                    path_user: path_user.clone(),
                    log: Arc::clone(&log),
                };
                asking.spawn(client(TrafficPath::RawTcp).run(socket));
                let (client, control) =
                    (client(TrafficPath::Libp2p), swarm.behaviour().new_control());
                let stream = open(control, id, [0; 2]);
                asking.spawn(async move { client.run(stream.await?).await });
            }
            loop {
                tokio::select! {
                    event = swarm.select_next_some() => refuse_loss(&event)?,
                    Some(ended) = asking.join_next() => match ended?? {},
                }
            }
        })
    })
}

/// Asks one peer over one path, one request at a time, while that path has its turn.
struct Client {
    path: TrafficPath,
    peer: usize,
    load: Load,
    path_user: PathUser,
    log: Arc<Mutex<RequestLog>>,
}

impl Client {
    async fn run(mut self, stream: impl AsyncRead + AsyncWrite + Unpin) -> Result<Infallible> {
        let mut asker = Asker::new(stream, self.load.payload, self.log);
        while let Some(_turn) = self.path_user.begin(self.path).await {
            while self.path_user.goes_on() {
                let (path, peer) = (self.path, self.peer + 1);
                let asked = asker
                    .ask(self.peer, self.load.payload, Duration::ZERO)
                    .await;
                asked.with_context(|| format!("the link to peer {peer} broke ({path:?})"))?;
            }
        }
        // The measuring thread has ended and reports the reason.
        pending().await
    }
}
