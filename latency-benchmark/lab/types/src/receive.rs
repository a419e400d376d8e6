use serde::{Deserialize, Serialize};

/// Where the kernel receives a packet: takes it through IP and TCP to the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ReceiveOn {
    /// On the core that sends it, as virtual links do by themselves
    #[default]
    Sender,
    /// On the receiver's core, as if both had a network card (Linux 6.3 or newer)
    Receiver,
}

/// The cores that receive packets, as masks in the form in which the kernel gave them back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveMasks {
    pub central: String,
    /// Of every peer.
    pub peers: String,
}
