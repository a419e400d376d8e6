//! A swarm of the chosen transport and security around any behaviour.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use futures::{AsyncRead, AsyncWrite, StreamExt};
use libp2p::core::muxing::StreamMuxerBox;
use libp2p::core::transport::Boxed;
use libp2p::core::upgrade::Version;
use libp2p::identity::Keypair;
use libp2p::multiaddr::Protocol;
use libp2p::swarm::{DialError, Executor, NetworkBehaviour, SwarmEvent};
#[cfg(feature = "tls")]
use libp2p::tls;
use libp2p::{Multiaddr, PeerId, Swarm, noise, plaintext, tcp, yamux};
#[cfg(feature = "quic")]
use libp2p::{Transport as _, quic};
use tokio::time::{Instant, timeout_at};

use node_kit::ConnectionCounts;
use run_format::{NodeConfig, Security, Transport};

/// Builds a swarm whose tasks `executor` runs. Call it within a tokio runtime.
pub(crate) fn build<B: NetworkBehaviour>(
    transport: Boxed<(PeerId, StreamMuxerBox)>,
    key: &Keypair,
    behaviour: B,
    executor: impl Executor + Send + 'static,
) -> Swarm<B> {
    // No connection is idle enough to be closed while it is measured.
    const NEVER: Duration = Duration::from_secs(24 * 3600);
    let config = libp2p::swarm::Config::with_executor(executor).with_idle_connection_timeout(NEVER);
    Swarm::new(transport, behaviour, key.public().to_peer_id(), config)
}

pub(crate) fn transport(
    node: &NodeConfig,
    key: &Keypair,
) -> Result<Boxed<(PeerId, StreamMuxerBox)>> {
    match node.transport {
        Transport::Tcp => upgraded(tcp(), node.security, key),
        #[cfg(feature = "quic")]
        Transport::Quic => Ok(quic::tokio::Transport::new(quic::Config::new(key))
            .map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer)))
            .boxed()),
        #[cfg(not(feature = "quic"))]
        Transport::Quic => bail!("this node program was built without that transport"),
    }
}

pub(crate) fn tcp() -> tcp::tokio::Transport {
    tcp::tokio::Transport::new(tcp::Config::default())
}

/// Adds encryption and yamux to a transport of bytes, in the same way as `SwarmBuilder::with_tcp`.
pub(crate) fn upgraded<T>(
    transport: T,
    security: Security,
    key: &Keypair,
) -> Result<Boxed<(PeerId, StreamMuxerBox)>>
where
    T: libp2p::Transport + Send + Unpin + 'static,
    T::Output: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T::Error: Send + Sync + 'static,
    T::Dial: Send + 'static,
    T::ListenerUpgrade: Send + 'static,
{
    let upgrade = transport.upgrade(Version::V1Lazy);
    let muxer = yamux::Config::default();
    Ok(match security {
        Security::Noise => upgrade
            .authenticate(noise::Config::new(key)?)
            .multiplex(muxer)
            .boxed(),
        #[cfg(feature = "tls")]
        Security::Tls => upgrade
            .authenticate(tls::Config::new(key)?)
            .multiplex(muxer)
            .boxed(),
        #[cfg(not(feature = "tls"))]
        Security::Tls => bail!("this node program was built without that security"),
        Security::Plaintext => upgrade
            .authenticate(plaintext::Config::new(key))
            .multiplex(muxer)
            .boxed(),
    })
}

/// Makes the swarm listen, and returns the address at which it can be dialled.
pub(crate) async fn listen<B: NetworkBehaviour>(
    swarm: &mut Swarm<B>,
    at: Multiaddr,
) -> Result<Multiaddr> {
    let cannot = || format!("cannot listen on {at}");
    swarm.listen_on(at.clone()).with_context(cannot)?;
    loop {
        match swarm.select_next_some().await {
            SwarmEvent::NewListenAddr { address, .. } => {
                let named = address.with_p2p(*swarm.local_peer_id());
                return named.map_err(|address| anyhow!("cannot name {address}"));
            }
            SwarmEvent::ListenerClosed {
                reason: Err(error), ..
            } => return Err(error).with_context(cannot),
            _ => {}
        }
    }
}

/// Dials every address and waits until all have answered. Returns the peers in the order of the addresses.
pub(crate) async fn connect<B: NetworkBehaviour>(
    swarm: &mut Swarm<B>,
    addresses: &[Multiaddr],
    counts: &ConnectionCounts,
) -> Result<Vec<(PeerId, Multiaddr)>> {
    const PATIENCE: Duration = Duration::from_secs(20);
    let deadline = Instant::now() + PATIENCE;
    for address in addresses {
        let dialled = swarm.dial(address.clone());
        dialled.with_context(|| format!("cannot dial {address}"))?;
        counts.dialled();
    }
    let mut connected: Vec<Option<PeerId>> = vec![None; addresses.len()];
    while connected.contains(&None) {
        let Ok(event) = timeout_at(deadline, swarm.select_next_some()).await else {
            let missing = connected.iter().filter(|peer| peer.is_none()).count();
            let all = addresses.len();
            bail!("{missing} of {all} peers did not answer within {PATIENCE:?}");
        };
        count(&event, counts);
        refuse_loss(&event)?;
        if let SwarmEvent::ConnectionEstablished {
            peer_id, endpoint, ..
        } = event
        {
            let dialled = |address: &&Multiaddr| same_node(address, endpoint.get_remote_address());
            if let Some(at) = addresses.iter().position(|address| dialled(&address)) {
                connected[at] = Some(peer_id);
            }
        }
    }
    let peers = connected.into_iter().flatten();
    Ok(peers.zip(addresses.iter().cloned()).collect())
}

/// The socket at which the peer whose swarm is at `at` answers without libp2p. Every peer has an IP address of its own.
pub(crate) fn raw_tcp_address(at: &Multiaddr) -> Result<SocketAddr> {
    /// The port of that socket. The swarm has another.
    const PORT: u16 = 7007;
    let ip = at.iter().find_map(|part| match part {
        Protocol::Ip4(ip) => Some(IpAddr::V4(ip)),
        Protocol::Ip6(ip) => Some(IpAddr::V6(ip)),
        _ => None,
    });
    let no_ip = || format!("{at} has no IP address");
    Ok(SocketAddr::new(ip.with_context(no_ip)?, PORT))
}

/// Whether two addresses are of one node. Only one of them may name the node at its end.
fn same_node(one: &Multiaddr, other: &Multiaddr) -> bool {
    let mut pairs = one.iter().zip(other.iter());
    pairs.all(|(left, right)| left == right)
}

pub(crate) fn count<E>(event: &SwarmEvent<E>, counts: &ConnectionCounts) {
    match event {
        // This event comes only if the behaviour dials. Callers of `Swarm::dial` count their own dials.
        SwarmEvent::Dialing { .. } => counts.dialled(),
        SwarmEvent::ConnectionEstablished {
            num_established, ..
        } => counts.opened(num_established.get() == 1),
        SwarmEvent::ConnectionClosed {
            num_established, ..
        } => counts.closed(*num_established == 0),
        SwarmEvent::OutgoingConnectionError { .. } => counts.dial_failed(),
        _ => {}
    }
}

/// Returns an error if a connection was lost or a dial failed.
pub(crate) fn refuse_loss<E>(event: &SwarmEvent<E>) -> Result<()> {
    match event {
        SwarmEvent::ConnectionClosed { peer_id, cause, .. } => {
            let by_peer = || "by the peer".to_owned();
            let why = cause.as_ref().map_or_else(by_peer, ToString::to_string);
            bail!("the connection to {peer_id} closed: {why}")
        }
        SwarmEvent::OutgoingConnectionError {
            error: DialError::Transport(tried),
            ..
        } => {
            // The outer errors of this chain only wrap the innermost one and say nothing more.
            let causes = tried.iter().map(|(at, error)| {
                let mut cause: &dyn Error = error;
                while let Some(next) = cause.source() {
                    cause = next;
                }
                format!("{at}: {cause}")
            });
            bail!("dialling failed: {}", causes.collect::<Vec<_>>().join("; "))
        }
        SwarmEvent::OutgoingConnectionError { error, .. } => bail!("dialling failed: {error}"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_beside_the_swarm() {
        for (swarm, socket) in [
            ("/ip4/10.1.2.3/tcp/4001", "10.1.2.3:7007"),
            ("/ip6/::1/tcp/0", "[::1]:7007"),
        ] {
            let swarm: Multiaddr = swarm.parse().expect("an address");
            assert_eq!(
                raw_tcp_address(&swarm).expect("it has an IP").to_string(),
                socket
            );
        }
        let nameless: Multiaddr = "/dns/example.org/tcp/1".parse().expect("an address");
        assert!(raw_tcp_address(&nameless).is_err());
    }
}
