use std::io;

use crate::{Rtt, SpecError, ToolError, netem};

/// Why a lab could not be wired, or does not work any more.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No machine could do it.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A program is missing or refused.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A namespace could not be made or set up.
    #[error("the network namespaces could not be set up")]
    Namespaces(#[source] io::Error),
    /// The kernel has no such congestion control.
    #[error(
        "the kernel has no congestion control {asked:?} (available: {available}; \
         as root, `modprobe tcp_{asked}` may bring it)"
    )]
    CongestionControl {
        /// As asked.
        asked: String,
        /// What it has.
        available: String,
    },
    /// The kernel refuses a queue.
    #[error("the kernel lends no packet queue (NFQUEUE); it may lack nfnetlink_queue")]
    Queue(#[source] io::Error),
    /// Netem was asked for, by name or by an option that needs it.
    #[error("this machine has no working netem: {0}; {remedy}", remedy = instead_of_netem(.0))]
    NoNetem(Box<LabError>),
    /// Neither way to delay packets works.
    #[error("no way to delay packets by {rtt} ms: netem: {netem}; NFQUEUE: {nfqueue}")]
    NoDelay {
        /// What was asked for.
        rtt: Rtt,
        /// Why not by netem.
        netem: Box<LabError>,
        /// Why not by the delay line.
        nfqueue: Box<LabError>,
    },
    /// The delay line could not start or could not say what it did.
    #[error("the delay line failed: {0}")]
    DelayLine(String),
    /// The delay line is gone, and with it every packet.
    #[error("the delay line died ({0}); no packet passes any more")]
    DelayLineDied(String),
    /// The links could not be measured.
    #[error("the links could not be measured")]
    Measurement(#[source] io::Error),
    /// A process could not be started inside.
    #[error("the system could not start the process")]
    Spawn(#[source] io::Error),
}

/// A missing program says itself what brings it.
fn instead_of_netem(problem: &LabError) -> String {
    const NFQUEUE: &str = "the nfqueue backend needs none, and has no loss and no jitter";
    match problem {
        LabError::Tool(ToolError::Missing { .. }) => NFQUEUE.to_owned(),
        _ => format!("remedy: {}; {NFQUEUE}", netem::REMEDY),
    }
}
