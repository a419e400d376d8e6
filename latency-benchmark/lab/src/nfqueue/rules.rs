//! The rules that hand packets to the queue.

use std::sync::OnceLock;

use super::queue::Queue;
use crate::{
    Inside, LabError,
    netem::scratch,
    netns::Netns,
    tool::{Tool, ToolError},
    wiring::{Wires, run_all},
};

/// All that arrives but over `lo` is held.
///
/// There is no `--queue-bypass`: with it, packets would go on without any delay if the delay line
/// died. Without it they are dropped, and a run that lost its delay cannot look like a fast one.
#[rustfmt::skip]
const ARGUMENTS: [&str; 12] = [
    "-w", "-t", "mangle", "-A", "PREROUTING", "!", "-i", "lo", "-j", "NFQUEUE", "--queue-num", "0",
];

/// The flavours of the tool. What `iptables` itself is depends on the machine, and not every kernel
/// supports it: the first that works in a scratch namespace is taken.
const FLAVOURS: [&str; 3] = ["iptables", "iptables-nft", "iptables-legacy"];

/// A flavour that works here.
#[derive(Clone, Debug)]
pub(crate) struct Iptables(Tool);

impl Iptables {
    /// Holds what arrives in any of the namespaces.
    pub(crate) fn hold_packets(&self, wires: &Wires) -> Result<(), ToolError> {
        run_all(wires.namespaces(), |namespace| {
            self.0.start(namespace, &ARGUMENTS, "")
        })
        .map(drop)
    }
}

/// Tries every flavour of the tool, and the queue, in a namespace made for it. What it finds holds
/// for the rest of the process.
pub(crate) fn probe(inside: Inside) -> Result<Iptables, LabError> {
    static WORKS: OnceLock<Iptables> = OnceLock::new();
    if let Some(iptables) = WORKS.get() {
        return Ok(iptables.clone());
    }
    let scratch = scratch(inside)?;
    let iptables = first_that_works(&scratch)?;
    scratch.run(Queue::bind).map_err(LabError::Queue)?;
    Ok(WORKS.get_or_init(|| iptables).clone())
}

/// The complaint is that of the first flavour, unless that is not there.
fn first_that_works(scratch: &Netns) -> Result<Iptables, ToolError> {
    let mut complaint = None;
    for name in FLAVOURS {
        let tried = Tool::find(name).and_then(|tool| {
            tool.run(scratch, &ARGUMENTS, "")?;
            Ok(Iptables(tool))
        });
        match tried {
            Ok(iptables) => return Ok(iptables),
            Err(error) if complaint.is_none() => complaint = Some(error),
            Err(error @ ToolError::Failed { .. })
                if matches!(complaint, Some(ToolError::Missing { .. })) =>
            {
                complaint = Some(error);
            }
            Err(_) => {}
        }
    }
    Err(complaint.expect("at least one flavour was tried"))
}
