//! Peers on other hosts, over a network that is there anyway.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::Cores;

/// The hosts of the peers, and what starts a program there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerHosts {
    /// Words that come before the program. In them `{host}` stands for the name of a host.
    pub command: Vec<String>,
    /// Peer 1 runs on the first.
    pub hosts: Vec<PeerHost>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerHost {
    /// As the command takes it.
    pub name: String,
    pub address: IpAddr,
}

/// A network card by which central reaches peers. Null is what the kernel does not say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NetworkCard {
    pub interface: String,
    pub driver: Option<String>,
    pub speed_mbit: Option<u64>,
    /// Those that its interrupts go to.
    pub interrupt_cores: Option<Cores>,
    /// Those that are on. Null also if `ethtool` is not installed.
    pub offloads: Option<Vec<String>>,
}

impl fmt::Display for NetworkCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |text: Option<String>| text.unwrap_or_else(|| "unknown".to_owned());
        write!(
            f,
            "{} (driver: {}; speed in Mbit/s: {}; cores of its interrupts: {}; offloads that are on: {})",
            self.interface,
            known(self.driver.clone()),
            known(self.speed_mbit.map(|speed| speed.to_string())),
            known(self.interrupt_cores.as_ref().map(Cores::to_string)),
            known(self.offloads.as_ref().map(|on| on.join(", "))),
        )
    }
}
