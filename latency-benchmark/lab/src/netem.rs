//! Delay by the kernel's own `netem`, where it has it.

use std::time::Duration;

use crate::{
    Inside, LabError, LabSpec,
    netns::Netns,
    tool::Tool,
    wiring::{PEER_INTERFACE, Wires, central_interface, run_all},
};

/// The packets a link holds in each direction. The default of 1000 would cap a long link at little
/// bandwidth and count the rest as loss: at 100 ms it is some 120 Mbit/s of full frames.
const LIMIT_PACKETS: u32 = 1_000_000;

/// What brings it to a kernel that has none.
pub(crate) const REMEDY: &str = "a kernel with CONFIG_NET_SCH_NETEM; on Ubuntu: \
    `apt-get install -y linux-modules-extra-$(uname -r)`; as root, `modprobe sch_netem`";

/// Tries netem on a link made for it, in a namespace made for it.
pub(crate) fn probe(inside: Inside) -> Result<(), LabError> {
    let scratch = scratch(inside)?;
    let link = "link add probe0 type veth peer name probe1\n";
    Tool::find("ip")?.run(&scratch, &["-batch", "-"], link)?;
    let qdisc = format!("qdisc add dev probe0 root netem limit {LIMIT_PACKETS} delay 1ms\n");
    Tool::find("tc")?.run(&scratch, &["-batch", "-"], &qdisc)?;
    Ok(())
}

pub(crate) fn scratch(inside: Inside) -> Result<Netns, LabError> {
    let mut made = Netns::create(inside, 1).map_err(LabError::Namespaces)?;
    Ok(made.pop().expect("one was made"))
}

/// Delays both ends of every link, each by half of the round-trip time.
pub(crate) fn delay(wires: &Wires, spec: &LabSpec) -> Result<(), LabError> {
    let tc = Tool::find("tc")?;
    let batch = ["-batch", "-"];
    let central: String = (0..wires.peers.len())
        .map(|peer| qdisc(&central_interface(peer), spec))
        .collect();
    let peer = qdisc(PEER_INTERFACE, spec);
    let ends = std::iter::once((&wires.central, central.as_str())).chain(
        wires
            .peers
            .iter()
            .map(|namespace| (namespace, peer.as_str())),
    );
    run_all(ends, |(namespace, script)| {
        tc.start(namespace, &batch, script)
    })?;
    Ok(())
}

fn qdisc(interface: &str, spec: &LabSpec) -> String {
    let mut line = format!(
        "qdisc add dev {interface} root netem limit {LIMIT_PACKETS} delay {}",
        us(spec.rtt.one_way())
    );
    if let Some(jitter) = spec.jitter {
        line += &format!(" {}", us(jitter.duration()));
    }
    if let Some(loss) = spec.loss {
        line += &format!(" loss {loss}");
    }
    line + "\n"
}

fn us(time: Duration) -> String {
    format!("{}us", time.as_nanos() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cores, Placement, Sharing};

    #[test]
    fn each_end_has_half_of_the_round_trip_and_room_for_it() {
        let mut spec = LabSpec::new(
            1,
            Placement {
                central: 0,
                peers: Cores::one(0),
                sharing: Sharing::Core,
            },
        );
        spec.rtt = "25".parse().expect("a time");
        assert_eq!(
            qdisc("e0", &spec),
            "qdisc add dev e0 root netem limit 1000000 delay 12500us\n"
        );
        spec.jitter = "1ms".parse().ok();
        spec.loss = "0.1%".parse().ok();
        assert_eq!(
            qdisc("c7", &spec),
            "qdisc add dev c7 root netem limit 1000000 delay 12500us 1000us loss 0.1%\n"
        );
    }
}
