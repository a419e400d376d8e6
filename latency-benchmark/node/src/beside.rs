//! Where a peer answers without libp2p.

use std::net::{IpAddr, SocketAddr};

use anyhow::{Result, anyhow};
use libp2p::Multiaddr;
use libp2p::multiaddr::Protocol;

/// Besides the port that it reports. Every peer has an IP address of its own.
const PORT: u16 = 7007;

/// Where the peer whose swarm is at `at` answers without libp2p.
pub(crate) fn address(at: &Multiaddr) -> Result<SocketAddr> {
    let ip = at.iter().find_map(|part| match part {
        Protocol::Ip4(ip) => Some(IpAddr::V4(ip)),
        Protocol::Ip6(ip) => Some(IpAddr::V6(ip)),
        _ => None,
    });
    let ip = ip.ok_or_else(|| anyhow!("{at} has no IP address"))?;
    Ok(SocketAddr::new(ip, PORT))
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
            assert_eq!(address(&swarm).expect("it has an IP").to_string(), socket);
        }
        let nameless: Multiaddr = "/dns/example.org/tcp/1".parse().expect("an address");
        assert!(address(&nameless).is_err());
    }
}
