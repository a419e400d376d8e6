//! Code for both sides of a connection.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use iroh::endpoint::presets;
use iroh::{Endpoint, SecretKey};

/// The protocol of central and its peers.
pub(crate) const PROTOCOL: &[u8] = b"/latency-benchmark/1";

/// Makes an endpoint with a socket at the given address, or with the sockets that iroh chooses. The preset has no relay and no
/// address lookup, and iroh is built without its port mapper. Without relays, iroh does not probe the network.
pub(crate) async fn endpoint(at: Option<SocketAddr>, key: SecretKey) -> Result<Endpoint> {
    let mut builder = Endpoint::builder(presets::Minimal)
        .secret_key(key)
        .alpns(vec![PROTOCOL.to_vec()]);
    if let Some(at) = at {
        builder = builder.clear_ip_transports().bind_addr(at)?;
    }
    builder.bind().await.context("iroh cannot listen")
}
