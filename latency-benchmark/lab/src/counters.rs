//! The kernel's counts of dropped packets.

use std::fs;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::netns::{Netns, SET_UP};
use crate::nfqueue::{numbers, user_dropped};
use crate::tool::{SystemTool, run_all};
use crate::wiring::Wires;
use run_format::{Counters, DelayBackend, NamespaceCounters};

pub(crate) fn read(wires: &Wires, backend: Option<DelayBackend>) -> Result<Counters> {
    let read_one = |_| {
        let links = fs::read_to_string("/proc/thread-self/net/dev").ok();
        Ok(NamespaceCounters {
            qdisc_dropped: None,
            queue_dropped: user_dropped(),
            link_dropped: links.as_deref().and_then(link_dropped),
        })
    };
    let mut all = Netns::for_each(wires.namespaces(), read_one).context(SET_UP)?;
    if backend == Some(DelayBackend::Netem) {
        let tc = SystemTool::find("tc")?;
        let show = ["-s", "-j", "qdisc", "show"];
        let outputs = run_all(wires.namespaces(), |namespace| tc.run(namespace, &show, ""))?;
        for (counters, output) in std::iter::zip(&mut all, outputs) {
            counters.qdisc_dropped = netem_dropped(&output);
        }
    }
    let peers = all.split_off(1);
    Ok(Counters {
        central: all[0],
        peers,
    })
}

/// Packets dropped in both directions by all interfaces except `lo`.
fn link_dropped(table: &str) -> Option<u64> {
    const RECEIVE: usize = 3;
    const SEND: usize = 11;
    let links = table.lines().filter_map(|line| line.split_once(':'));
    let links = links.filter(|(name, _)| name.trim() != "lo");
    let drops = links.map(|(_, counts)| {
        let counts = numbers(counts)?;
        Some(counts.get(RECEIVE)? + counts.get(SEND)?)
    });
    drops.sum()
}

#[derive(Deserialize)]
struct Qdisc {
    kind: String,
    drops: Option<u64>,
}

fn netem_dropped(json: &str) -> Option<u64> {
    let qdiscs: Vec<Qdisc> = serde_json::from_str(json).ok()?;
    let netem = qdiscs.iter().filter(|qdisc| qdisc.kind == "netem");
    netem.map(|qdisc| qdisc.drops).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_packets_of_lo_do_not_count() {
        let dev = "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop|bytes\n\
                   lo: 1 1 0 50 0 0 0 0 1 1 0 50 0 0 0 0\n\
                   e0: 1 1 0 3 0 0 0 0 1 1 0 4 0 0 0 0\n";
        assert_eq!(link_dropped(dev), Some(7));
    }

    #[test]
    fn only_the_qdisc_netem_counts() {
        let json = r#"[{"kind":"noqueue","drops":5},{"kind":"netem","drops":2},{"kind":"netem","drops":1}]"#;
        assert_eq!(netem_dropped(json), Some(3));
        assert_eq!(netem_dropped(r#"[{"kind":"netem"}]"#), None);
        assert_eq!(netem_dropped("no json"), None);
    }
}
