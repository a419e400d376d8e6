//! The firewall rules that send packets to the queue.

use std::sync::OnceLock;

use anyhow::{Context, Result};

use super::queue::PacketQueue;
use crate::{
    Inside,
    netns::{Netns, SET_UP},
    tool::{MissingTool, SystemTool},
    wiring::{Wires, run_all},
};

/// Sends every packet that arrives to the queue, unless it arrives over `lo`.
///
/// With `--queue-bypass`, packets would get through without any delay after the delay line died. Without
/// it the kernel drops them, so a run that lost its delay cannot look like a fast one.
#[rustfmt::skip]
const ARGUMENTS: [&str; 12] = [
    "-w", "-t", "mangle", "-A", "PREROUTING", "!", "-i", "lo", "-j", "NFQUEUE", "--queue-num", "0",
];

/// The variants of the tool. `iptables` is one of the other two, depending on the machine. Not every kernel
/// supports both, so the first one that works in a temporary namespace is used.
const VARIANTS: [&str; 3] = ["iptables", "iptables-nft", "iptables-legacy"];

/// A variant that works on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Iptables(SystemTool);

impl Iptables {
    /// Holds the packets that arrive in any of the namespaces.
    pub(crate) fn hold_packets(&self, wires: &Wires) -> Result<()> {
        run_all(wires.namespaces(), |namespace| {
            self.0.start(namespace, &ARGUMENTS, "")
        })
        .map(drop)
    }
}

/// Tries the variants of the tool, and the queue, in a temporary namespace. The result is kept for the rest
/// of the process.
pub(crate) fn probe(inside: Inside) -> Result<Iptables> {
    static WORKS: OnceLock<Iptables> = OnceLock::new();
    if let Some(iptables) = WORKS.get() {
        return Ok(iptables.clone());
    }
    let scratch = Netns::scratch(inside).context(SET_UP)?;
    let iptables = first_that_works(&scratch)?;
    scratch.run(PacketQueue::bind).context(
        "the kernel provides no packet queue (NFQUEUE); the module nfnetlink_queue may be missing",
    )?;
    Ok(WORKS.get_or_init(|| iptables).clone())
}

/// The error is that of the first installed variant. If none is installed, it is that of the first variant.
fn first_that_works(scratch: &Netns) -> Result<Iptables> {
    let mut complaint: Option<anyhow::Error> = None;
    for name in VARIANTS {
        let tried = || -> Result<Iptables> {
            let tool = SystemTool::find(name)?;
            tool.run(scratch, &ARGUMENTS, "")?;
            Ok(Iptables(tool))
        };
        match tried() {
            Ok(iptables) => return Ok(iptables),
            // That of an installed variant says more than that one is missing.
            Err(error) if complaint.is_none() || !error.is::<MissingTool>() => {
                complaint = complaint
                    .filter(|it| !it.is::<MissingTool>())
                    .or(Some(error));
            }
            Err(_) => {}
        }
    }
    Err(complaint.expect("at least one variant was tried"))
}
