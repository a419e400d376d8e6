use std::io;

use crate::{LabSpecError, Rtt, ToolError};

/// Why a lab could not be wired, or no longer works.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No machine could provide such a lab.
    #[error(transparent)]
    Spec(#[from] LabSpecError),
    /// A program is missing or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A namespace could not be created or configured.
    #[error("the network namespaces could not be set up")]
    Namespaces(#[source] io::Error),
    /// The kernel does not offer this congestion control.
    #[error(
        "the kernel has no congestion control {asked:?} (available: {available}; \
         as root, `modprobe tcp_NAME` may load another)"
    )]
    CongestionControl {
        /// The requested congestion control.
        asked: String,
        /// Those that the kernel offers.
        available: String,
    },
    /// The kernel does not steer packets to the receiver's cores.
    #[error(
        "packets cannot be received on the receiver's cores: net.core.rps_default_mask could not be set"
    )]
    ReceiveOn(#[source] io::Error),
    /// The kernel refuses a packet queue.
    #[error(
        "the kernel provides no packet queue (NFQUEUE); the module nfnetlink_queue may be missing"
    )]
    Queue(#[source] io::Error),
    /// The caller asked for netem, or for loss or jitter, which need it.
    #[error("this machine has no working netem: {0}; {remedy}", remedy = instead_of_netem(.0))]
    NoNetem(Box<LabError>),
    /// Neither backend can delay packets.
    #[error("packets cannot be delayed by {rtt} ms: netem: {netem}; NFQUEUE: {nfqueue}")]
    NoDelay {
        /// The requested round-trip time.
        rtt: Rtt,
        /// Why netem does not work.
        netem: Box<LabError>,
        /// Why the delay line does not work.
        nfqueue: Box<LabError>,
    },
    /// The delay line could not start, or did not report.
    #[error("the delay line failed: {0}")]
    DelayLine(String),
    /// The delay line has ended. Without it no packet gets through.
    #[error("the delay line {0}, so no packet gets through any more")]
    DelayLineDied(String),
    /// The round-trip times could not be measured.
    #[error("the links could not be measured")]
    Measurement(#[source] io::Error),
    /// A process could not be started inside.
    #[error("the system could not start the process")]
    Spawn(#[source] io::Error),
}

/// How to make netem work.
pub(crate) const NETEM_REMEDY: &str = "use a kernel with CONFIG_NET_SCH_NETEM; on Ubuntu: \
    `apt-get install -y linux-modules-extra-$(uname -r)`; as root, `modprobe sch_netem`";

/// The error of a missing program contains a remedy already.
fn instead_of_netem(problem: &LabError) -> String {
    const NFQUEUE: &str =
        "the nfqueue backend works without netem, but supports neither loss nor jitter";
    match problem {
        LabError::Tool(ToolError::Missing { .. }) => NFQUEUE.to_owned(),
        _ => format!("remedy: {NETEM_REMEDY}; {NFQUEUE}"),
    }
}
