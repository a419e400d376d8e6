//! The network between the nodes: what is asked for, and what the lab reports about it.
#![allow(missing_docs)] // RESULTS.md describes each field, and the names are theirs.

mod config;
mod cores;
mod hosts;
mod placement;
mod reports;
mod rtt;
mod serde_text;

pub use self::config::{LabConfig, MAX_PEERS, ReceiveMasks, ReceiveOn};
pub use self::cores::Cores;
pub use self::hosts::{NetworkCard, PeerHost, PeerHosts};
pub use self::placement::{Placement, Sharing};
pub use self::reports::{
    Counters, DelayBackend, DelayLineReport, LabFacts, LinkRtt, NamespaceCounters, QueueReport,
    RttReport, SchedulingClass, TcpBuffers,
};
pub use self::rtt::{Backend, RTT_FORMS, Rtt, jitter, loss};
