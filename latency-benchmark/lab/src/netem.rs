//! Delays packets by netem, the kernel's queueing discipline for emulated networks.

use std::time::Duration;

use anyhow::{Context, Result};

use crate::netns::{Netns, SET_UP};
use crate::tool::{BATCH, SystemTool, run_all};
use crate::wiring::{PEER_INTERFACE, Wires, central_interface};
use crate::{Inside, LabSpec};

/// Packets that a link holds in each direction. The default of 1000 would limit a long link to a small
/// bandwidth and count the rest as loss: about 120 Mbit/s of full frames at 100 ms.
const LIMIT_PACKETS: u32 = 1_000_000;

pub(crate) const REMEDY: &str = "use a kernel with CONFIG_NET_SCH_NETEM; on Ubuntu: \
    `apt-get install -y linux-modules-extra-$(uname -r)`; as root, `modprobe sch_netem`";

/// Tries netem on a temporary link in a temporary namespace.
pub(crate) fn probe(inside: Inside) -> Result<()> {
    let scratch = Netns::scratch(inside).context(SET_UP)?;
    let link = "link add probe0 type veth peer name probe1\n";
    SystemTool::find("ip")?.run(&scratch, &BATCH, link)?;
    let qdisc = format!("qdisc add dev probe0 root netem limit {LIMIT_PACKETS} delay 1ms\n");
    SystemTool::find("tc")?.run(&scratch, &BATCH, &qdisc)?;
    Ok(())
}

/// Delays the packets at both ends of every link, by half of the round-trip time each.
pub(crate) fn delay(wires: &Wires, spec: &LabSpec) -> Result<()> {
    let tc = SystemTool::find("tc")?;
    let links = 0..wires.peers.len();
    let lines = links.map(|peer| qdisc(&central_interface(peer), spec));
    let central: String = lines.collect();
    let peer = qdisc(PEER_INTERFACE, spec);
    let scripts = std::iter::once(&central).chain(std::iter::repeat(&peer));
    let placed = std::iter::zip(wires.namespaces(), scripts);
    run_all(placed, |(namespace, script)| {
        tc.run(namespace, &BATCH, script)
    })
    .map(drop)
}

fn qdisc(interface: &str, spec: &LabSpec) -> String {
    let mut line = format!(
        "qdisc add dev {interface} root netem limit {LIMIT_PACKETS} delay {}",
        us(spec.rtt.one_way())
    );
    if let Some(jitter) = spec.network.jitter_ms {
        line += &format!(" {}", us(jitter.duration()));
    }
    if let Some(loss) = spec.network.loss_percent {
        line += &format!(" loss {loss}%");
    }
    line + "\n"
}

fn us(time: Duration) -> String {
    format!("{}us", time.as_nanos() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_delays_by_half_of_the_round_trip_and_holds_many_packets() {
        let mut spec = LabSpec::for_tests();
        spec.rtt = "25".parse().expect("a time");
        assert_eq!(
            qdisc("e0", &spec),
            "qdisc add dev e0 root netem limit 1000000 delay 12500us\n"
        );
        spec.network.jitter_ms = "1ms".parse().ok();
        spec.network.loss_percent = Some(0.1);
        assert_eq!(
            qdisc("c7", &spec),
            "qdisc add dev c7 root netem limit 1000000 delay 12500us 1000us loss 0.1%\n"
        );
    }
}
