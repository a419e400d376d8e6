//! The protocol between the tool and a node program, which is the same for every network stack. A node program has three
//! verbs:
//!
//! - `describe` prints a [`NodeDescription`] as JSON.
//! - `peer` reads a [`PeerTask`] as JSON from the first line of standard input, prints the address to dial, and serves until
//!   it is killed or, on another host, until its standard input ends. Before the address it prints a [`PeerElsewhere`] if the
//!   task asks for that.
//! - `central` reads a [`CentralTask`] as JSON from the first line of standard input, dials every peer, writes
//!   the tables of the run into the folder that the task names, and prints a [`NodeMessage`] as JSON per line.
//!   The line [`TURN_LINE`] gives it the turn that it has asked for. The line [`STOP_LINE`] asks it to finish the slice
//!   and end. At the end of standard input it ends at once.
//!
//! A verb that fails prints the reason in one line on standard error. Its exit code is 2 if the input was wrong.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    Budgets, CompiledNode, Load, Measurement, Messages, NodeConfig, RunConfig, SoakRow, Stall,
    Stop, Upstream,
};

/// The line on standard input that asks a cell or central to finish the slice and stop.
pub const STOP_LINE: &str = "stop";

/// The line that gives central the turn that it has asked for.
pub const TURN_LINE: &str = "turn";

/// The verb `describe`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeDescription {
    pub program: CompiledNode,
    pub upstream: Vec<Upstream>,
    /// The lines inserted into upstream's crates, as a diff.
    pub edits: String,
    /// Whether its peers change budgets when the page of a [`PeerTask`] says so.
    #[serde(default)]
    pub peers_follow: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Listen {
    /// At this address of its network namespace, on any port.
    Ip(IpAddr),
    /// At an address in the text form of its network stack, as the peer itself prints it.
    Address(String),
}

/// The task of a peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerTask {
    pub node: NodeConfig,
    pub load: Load,
    pub measurement: Measurement,
    pub listen: Listen,
    /// The seed of its key, by which a restarted peer has the same identity. None for a random key.
    pub identity: Option<[u8; 32]>,
    /// Whether the tool is on another host. The peer then ends when its standard input ends. It also prints a
    /// [`PeerElsewhere`] if it listens at an IP address.
    #[serde(default)]
    pub elsewhere: bool,
    /// The budgets of central's variants, in their order.
    #[serde(default)]
    pub budgets: Vec<Budgets>,
    /// The number of an inherited file: a page of memory, by which central says which variant is in force. Without it the
    /// peer has no budget.
    #[serde(default)]
    pub page: Option<i32>,
}

/// The first line of a peer on another host than the tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerElsewhere {
    /// The address that answers TCP connects, by which the link is timed.
    pub connects: SocketAddr,
    pub sha256: String,
}

/// The task of central.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CentralTask {
    pub config: RunConfig,
    /// An empty folder for the tables.
    pub dir: PathBuf,
    /// The addresses to dial, as the peers printed them.
    pub peers: Vec<String>,
    pub others: OtherProcesses,
    /// The same file as in a [`PeerTask`].
    #[serde(default)]
    pub page: Option<i32>,
}

/// Processes whose use of the machine is recorded beside central's.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OtherProcesses {
    pub peers: Vec<i32>,
    pub delay_line: Option<i32>,
}

/// A message of central.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeMessage {
    /// All peers are connected.
    Connected {
        /// None where no poll is recorded.
        probe_ns: Option<f64>,
    },
    /// Central has nothing to do until it gets a turn of the block: other programs take turns with it. It is paused
    /// meanwhile. The block is 0 before the first one.
    AsksForTurn(u32),
    /// A block is done.
    Block(BlockReport),
    /// An interval of a soak is over.
    Row(Box<SoakRow>),
    /// The stream to a peer stands still. Central is about to end with an error.
    Stalled(Stall),
    /// Central is done.
    Measured(Measured),
}

/// Central's last message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    pub stop: Stop,
    /// The number of blocks, or of rows in a soak.
    pub blocks: u32,
    /// The time of warm-up, settling and slices.
    pub planned_ms: u64,
    /// The messages of each variant, if messages were published.
    #[serde(default)]
    pub messages: Vec<Messages>,
    /// The number of unanswered requests for each peer that saturates throughput, if central was asked to find it.
    #[serde(default)]
    pub outstanding: Option<u32>,
}

/// The figures of each variant so far. Null means that nothing can be said yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BlockReport {
    pub block: u32,
    /// The time of polls of connections after their first 50 µs, added up.
    pub beyond_ms_per_s: Vec<Option<f64>>,
    /// The requests per second take the place of that time if no poll is recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests_per_s: Vec<Option<f64>>,
    /// Stack samples in slow polls. Empty unless a cell is explained.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slow_samples: Vec<u64>,
}
