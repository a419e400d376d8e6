//! What both sides do alike with QUIC.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use iroh::endpoint::presets;
use iroh::{Endpoint, SecretKey};

/// What both sides speak.
pub const PROTOCOL: &[u8] = b"/latency-benchmark/1";

/// An endpoint with a socket at that address, or else with those that iroh makes. The preset has no relay and no address
/// lookup, and iroh is built without what asks routers for ports. Without relays iroh makes no report of the network.
pub async fn endpoint(at: Option<SocketAddr>, key: SecretKey) -> Result<Endpoint> {
    let mut builder = Endpoint::builder(presets::Minimal)
        .secret_key(key)
        .alpns(vec![PROTOCOL.to_vec()]);
    if let Some(at) = at {
        builder = builder.clear_ip_transports().bind_addr(at)?;
    }
    builder.bind().await.context("iroh cannot listen")
}
