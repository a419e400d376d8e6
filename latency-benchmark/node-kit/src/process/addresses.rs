//! The addresses in a task.

use std::net::SocketAddr;

use anyhow::anyhow;
use program::{Failure, bad_input};
use run_format::{CentralTask, Listen};

/// The addresses of central's peers. `parse` reads an address of the form `accepted`.
pub fn peer_addresses<A>(
    task: &CentralTask,
    accepted: &str,
    parse: impl Fn(&str) -> Option<A>,
) -> Result<Vec<A>, Failure> {
    let read = |text: &String| parse(text).ok_or_else(|| not_an_address(text, accepted));
    task.peers.iter().map(read).collect()
}

/// The address at which a peer listens. An address that a peer has printed may begin with `ID@`, which is left out.
pub fn listen_address(listen: &Listen) -> Result<SocketAddr, Failure> {
    match listen {
        Listen::Ip(ip) => Ok(SocketAddr::new(*ip, 0)),
        Listen::Address(text) => {
            let address = text.rsplit('@').next().unwrap_or(text);
            let accepted = "such as 127.0.0.1:4001";
            address.parse().map_err(|_| not_an_address(text, accepted))
        }
    }
}

fn not_an_address(text: &str, accepted: &str) -> Failure {
    bad_input(anyhow!("{text}: not an address (accepted: {accepted})"))
}
