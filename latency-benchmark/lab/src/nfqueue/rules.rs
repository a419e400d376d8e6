//! The firewall rules that send packets to the queue.

use anyhow::{Context, Result};

use super::queue::PacketQueue;
use crate::Inside;
use crate::netns::{Netns, SET_UP};
use crate::tool::{MissingTool, SystemTool};
use crate::wiring::{Wires, run_all};

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

pub(crate) fn hold_packets(iptables: &SystemTool, wires: &Wires) -> Result<()> {
    let start = |namespace| iptables.start(namespace, &ARGUMENTS, "");
    run_all(wires.namespaces(), start).map(drop)
}

/// The first variant of the tool that works. It is tried in a temporary namespace, and so is the queue.
pub(crate) fn probe(inside: Inside) -> Result<SystemTool> {
    let scratch = Netns::scratch(inside).context(SET_UP)?;
    let iptables = first_that_works(&scratch)?;
    scratch.run(PacketQueue::bind).context(
        "the kernel provides no packet queue (NFQUEUE); the module nfnetlink_queue may be missing",
    )?;
    Ok(iptables)
}

/// The error is that of the first installed variant. If none is installed, it is that of the first variant.
fn first_that_works(scratch: &Netns) -> Result<SystemTool> {
    let mut errors = Vec::new();
    for name in VARIANTS {
        let tried = || -> Result<SystemTool> {
            let tool = SystemTool::find(name)?;
            tool.run(scratch, &ARGUMENTS, "")?;
            Ok(tool)
        };
        match tried() {
            Ok(tool) => return Ok(tool),
            Err(error) => errors.push(error),
        }
    }
    let of_installed = errors.iter().position(|it| !it.is::<MissingTool>());
    Err(errors.swap_remove(of_installed.unwrap_or(0)))
}
