//! Nodes for request-response traffic over TCP with noise and yamux.

use std::io;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::prelude::*;
use futures::{AsyncReadExt, AsyncWriteExt};
use libp2p::core::upgrade::Version;
use libp2p::identity::Keypair;
use libp2p::swarm::{Executor, SwarmEvent};
use libp2p::{Multiaddr, Swarm, Transport, noise, request_response as rr, tcp, yamux};

/// The variant in force applies to the whole process, so these tests take turns.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) type EchoNode = Swarm<rr::Behaviour<Bytes>>;

/// A codec: requests and responses are bytes after their length.
#[derive(Clone, Default)]
pub(crate) struct Bytes;

impl rr::Codec for Bytes {
    type Protocol = &'static str;
    type Request = Vec<u8>;
    type Response = Vec<u8>;

    async fn read_request<T>(&mut self, _: &&'static str, io: &mut T) -> io::Result<Vec<u8>>
    where
        T: AsyncRead + Unpin + Send,
    {
        read(io).await
    }

    async fn read_response<T>(&mut self, _: &&'static str, io: &mut T) -> io::Result<Vec<u8>>
    where
        T: AsyncRead + Unpin + Send,
    {
        read(io).await
    }

    async fn write_request<T>(
        &mut self,
        _: &&'static str,
        io: &mut T,
        bytes: Vec<u8>,
    ) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        write(io, bytes).await
    }

    async fn write_response<T>(
        &mut self,
        _: &&'static str,
        io: &mut T,
        bytes: Vec<u8>,
    ) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        write(io, bytes).await
    }
}

async fn read<T: AsyncRead + Unpin + Send>(io: &mut T) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    io.read_exact(&mut length).await?;
    let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
    io.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn write<T: AsyncWrite + Unpin + Send>(io: &mut T, bytes: Vec<u8>) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    io.write_all(&length.to_be_bytes()).await?;
    io.write_all(&bytes).await?;
    io.flush().await
}

/// A node with tasks on `executor`. Call it within a tokio runtime.
pub(crate) fn node(executor: impl Executor + Send + 'static) -> EchoNode {
    let key = Keypair::generate_ed25519();
    let peer_id = key.public().to_peer_id();
    let transport = tcp::tokio::Transport::new(tcp::Config::default().nodelay(true))
        .upgrade(Version::V1)
        .authenticate(noise::Config::new(&key).expect("a new key can sign"))
        .multiplex(yamux::Config::default())
        .boxed();
    let protocol = [("/echo/1", rr::ProtocolSupport::Full)];
    let config = rr::Config::default().with_request_timeout(Duration::from_secs(120));
    let behaviour = rr::Behaviour::new(protocol, config);
    let config = libp2p::swarm::Config::with_executor(executor)
        .with_idle_connection_timeout(Duration::from_secs(600));
    Swarm::new(transport, behaviour, peer_id, config)
}

/// Runs tasks on the current runtime.
pub(crate) fn spawn(task: Pin<Box<dyn Future<Output = ()> + Send>>) {
    tokio::spawn(task);
}

/// Makes the node listen on loopback. Returns the address.
pub(crate) async fn listen(node: &mut EchoNode) -> Multiaddr {
    let anywhere = "/ip4/127.0.0.1/tcp/0".parse().expect("a valid address");
    node.listen_on(anywhere).expect("loopback is there");
    loop {
        if let SwarmEvent::NewListenAddr { address, .. } = node.select_next_some().await {
            return address;
        }
    }
}

/// Answers each request with its own bytes, without an end.
pub(crate) async fn echo(mut node: EchoNode) {
    loop {
        let event = node.select_next_some().await;
        if let SwarmEvent::Behaviour(rr::Event::Message {
            message: rr::Message::Request {
                request, channel, ..
            },
            ..
        }) = event
        {
            let _ = node.behaviour_mut().send_response(channel, request);
        }
    }
}
