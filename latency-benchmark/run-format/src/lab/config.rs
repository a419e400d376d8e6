//! The network as it is asked for: links, cores, and hosts of peers.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::plausible::{COUNT, PERCENT, WHAT_THE_TYPE_ALLOWS, plausible};
use crate::{Backend, Cores, Rtt};

/// The largest number of peers in a lab. The peer's number is one byte of its address.
pub const MAX_PEERS: usize = 250;

/// The settings that the networks of all cells share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabConfig {
    pub backend: Backend,
    pub loss_percent: Option<f64>,
    pub jitter_ms: Option<Rtt>,
    pub congestion_control: String,
    pub receive_on: ReceiveOn,
    pub placement: Placement,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_hosts: Option<PeerHosts>,
}

plausible! { LabConfig;
    backend jitter_ms congestion_control receive_on placement peer_hosts: WHAT_THE_TYPE_ALLOWS;
    loss_percent: PERCENT;
}

/// The core on which the kernel receives a packet and takes it through IP and TCP to the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ReceiveOn {
    /// On the sending core, as virtual links do by themselves
    #[default]
    Sender,
    /// On the receiver's core, as if both had a network card (Linux 6.3 or newer)
    Receiver,
}

/// The cores that receive packets, as masks in the form in which the kernel gave them back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveMasks {
    pub central: String,
    pub peers: String,
}

/// The cores of central, and those of everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub central: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<Cores>,
    pub peers: Cores,
    pub sharing: Sharing,
}

plausible! { Placement;
    central workers peers sharing: WHAT_THE_TYPE_ALLOWS;
}

/// The hardware that central and the peers share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    Nothing,
    PhysicalCore,
    Core,
}

impl Placement {
    pub fn central_cores(&self) -> Cores {
        let several = self.workers.clone();
        several.unwrap_or_else(|| Cores::one(self.central))
    }

    /// Says what is wrong if there are fewer cores than workers.
    pub fn too_few_cores(&self, workers: usize) -> Option<String> {
        let cores = self.central_cores();
        (cores.count() < workers).then(|| {
            format!(
                "there are too few cores: central's {workers} workers share {}, and wait for each other",
                cores.in_words()
            )
        })
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (alone, shares) = match self.sharing {
            Sharing::Nothing => (" alone", ""),
            Sharing::PhysicalCore => {
                let shares =
                    ", which shares a physical core with central's: they slow each other down";
                ("", shares)
            }
            Sharing::Core => (
                "",
                ": central shares its core, so its waits include the peers' work",
            ),
        };
        let [central, peers] = [&self.central_cores(), &self.peers].map(Cores::in_words);
        write!(
            f,
            "central{alone} on {central}, peers and delay line on {peers}{shares}"
        )
    }
}

/// The hosts of the peers, and what starts a program there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerHosts {
    pub command: Vec<String>,
    pub hosts: Vec<PeerHost>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerHost {
    pub name: String,
    pub address: IpAddr,
}

/// A network card by which central reaches peers. Null is what the kernel does not say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NetworkCard {
    pub interface: String,
    pub driver: Option<String>,
    pub speed_mbit: Option<u64>,
    pub interrupt_cores: Option<Cores>,
    pub offloads: Option<Vec<String>>,
}

plausible! { NetworkCard;
    interface driver interrupt_cores offloads: WHAT_THE_TYPE_ALLOWS;
    speed_mbit: COUNT;
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
