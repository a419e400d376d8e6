//! Central's namespace, one namespace per peer, and a link between central and each peer.
//!
//! Link `i` is `10.53.i.0/30`: central has `.1` on the interface `ci`, the peer has `.2` on `e0`. All names
//! that users see count from 1. The hardware addresses of neighbours are configured, so no ARP request is
//! ever sent: netem would delay it, but the delay line would not.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use anyhow::{Context, Result, bail};
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;
use run_format::{Cores, Placement, ReceiveMasks, ReceiveOn, TcpBuffers};

use crate::netns::{Netns, SET_UP};
use crate::tool::{BATCH, SystemTool, run_all};
use crate::{Inside, LabSpec};

pub(crate) const PEER_INTERFACE: &str = "e0";

/// The name of central's end of the link to peer `peer`, counted from zero.
pub(crate) fn central_interface(peer: usize) -> String {
    format!("c{}", peer + 1)
}

pub(crate) fn peer_address(peer: usize) -> Ipv4Addr {
    address(PEER_END, peer)
}

fn address(end: u8, peer: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 53, octet(peer), end)
}

fn octet(peer: usize) -> u8 {
    u8::try_from(peer + 1).expect("the number of peers was checked")
}

/// A locally administered address that contains the end and the number of the link.
fn hardware_address(end: u8, peer: usize) -> String {
    format!("02:00:00:00:{end:02x}:{:02x}", octet(peer))
}

const CENTRAL_END: u8 = 1;
const PEER_END: u8 = 2;

/// The namespaces of a lab. The links disappear with them.
pub(crate) struct Wires {
    pub(crate) central: Netns,
    pub(crate) peers: Vec<Netns>,
    /// None if packets are received where they are sent.
    pub(crate) receive_masks: Option<ReceiveMasks>,
}

impl Wires {
    /// All namespaces, central's first.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = &Netns> {
        std::iter::once(&self.central).chain(&self.peers)
    }

    pub(crate) fn lay(inside: Inside, spec: &LabSpec) -> Result<Wires> {
        let congestion_control = &*spec.network.congestion_control;
        check_congestion_control(congestion_control)?;
        let ip = SystemTool::find("ip")?;
        let mut peers = Netns::create(inside, spec.peers + 1).context(SET_UP)?;
        let central = peers.remove(0);
        let mut wires = Wires {
            central,
            peers,
            receive_masks: None,
        };
        if spec.network.receive_on == ReceiveOn::Receiver {
            const RECEIVE_ON: &str = "packets cannot be received on the receiver's cores: \
                net.core.rps_default_mask could not be set";
            let masks = wires.receive_on_receiver(&spec.network.placement);
            wires.receive_masks = Some(masks.context(RECEIVE_ON)?);
        }
        let script = wires.central_script(congestion_control);
        ip.run(&wires.central, &BATCH, &script)?;
        run_all(wires.peers.iter().enumerate(), |(peer, namespace)| {
            let ends = [PEER_END, CENTRAL_END];
            let script = link_end(PEER_INTERFACE, ends, *peer, congestion_control);
            ip.run(namespace, &BATCH, &(LO_UP.to_owned() + &script))
        })?;
        wires.await_links().context(SET_UP)?;
        Ok(wires)
    }

    /// Makes the kernel receive packets on the receiver's cores. Returns the masks as the kernel gives them back.
    ///
    /// A virtual link hands a packet to the receiver's network stack on the core that sends it. So central's core also
    /// does the peers' receiving. With network cards each side receives on a core of its own. The kernel's receive packet
    /// steering does the same for links. The mask of a namespace holds for links that are created later, and can be set
    /// without being root.
    fn receive_on_receiver(&self, placement: &Placement) -> io::Result<ReceiveMasks> {
        let central = mask(&placement.central_cores());
        let peers = mask(&placement.peers);
        let set = Netns::for_each(self.namespaces(), |namespace| {
            fs::write(MASK, if namespace == 0 { &central } else { &peers })?;
            Ok(fs::read_to_string(MASK)?.trim().to_owned())
        })?;
        // There is at least one peer, and all peers have the same mask.
        Ok(ReceiveMasks {
            central: set[0].clone(),
            peers: set[1].clone(),
        })
    }

    /// Waits until central's ends of the links forward packets. The end that comes up first drops packets
    /// until a worker thread of the kernel has noticed the other end, and a connect would then take a second
    /// longer. The peers' ends come up second, so they work at once.
    fn await_links(&self) -> io::Result<()> {
        const DEADLINE: Duration = Duration::from_secs(5);
        const PAUSE: Duration = Duration::from_micros(200);
        let is_down = |link: &InterfaceAddress| !link.flags.contains(InterfaceFlags::IFF_RUNNING);
        self.central.run(|| {
            let deadline = Instant::now() + DEADLINE;
            while let Some(link) = getifaddrs()?.find(is_down) {
                if Instant::now() > deadline {
                    let why = format!("link {} stays down", link.interface_name);
                    return Err(io::Error::other(why));
                }
                thread::sleep(PAUSE);
            }
            Ok(())
        })
    }

    fn central_script(&self, congestion_control: &str) -> String {
        let links = self.peers.iter().enumerate().map(|(peer, namespace)| {
            let interface = central_interface(peer);
            let ends = [CENTRAL_END, PEER_END];
            let own_end = link_end(&interface, ends, peer, congestion_control);
            format!(
                "link add {interface} address {} type veth \
                 peer name {PEER_INTERFACE} address {} netns {}\n",
                hardware_address(CENTRAL_END, peer),
                hardware_address(PEER_END, peer),
                namespace.path().display(),
            ) + &own_end
        });
        LO_UP.to_owned() + &links.collect::<String>()
    }
}

const LO_UP: &str = "link set lo up\n";

fn link_end(
    interface: &str,
    [own, other]: [u8; 2],
    peer: usize,
    congestion_control: &str,
) -> String {
    let (address, neighbour) = (address(own, peer), address(other, peer));
    let neighbour_hardware = hardware_address(other, peer);
    format!(
        "addr add {address}/30 dev {interface} noprefixroute\n\
         link set {interface} up\n\
         route add {neighbour}/32 dev {interface} src {address} congctl {congestion_control}\n\
         neigh add {neighbour} lladdr {neighbour_hardware} dev {interface} nud permanent\n"
    )
}

pub(crate) const AVAILABLE_CONGESTION_CONTROLS: &str =
    "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Refuses a congestion control that the kernel does not offer. The kernel's own error would be "invalid argument".
pub fn check_congestion_control(asked: &str) -> Result<()> {
    let available = fs::read_to_string(AVAILABLE_CONGESTION_CONTROLS).context(SET_UP)?;
    if available.split_whitespace().any(|name| name == asked) {
        return Ok(());
    }
    bail!(
        "the kernel has no congestion control {asked:?} (available: {}; \
         as root, `modprobe tcp_NAME` may load another)",
        available.trim()
    )
}

pub(crate) fn set_tcp(wires: &Wires, buffers: TcpBuffers) -> io::Result<()> {
    let settings = [
        ("net/ipv4/tcp_rmem", spaced(buffers.receive_bytes)),
        ("net/ipv4/tcp_wmem", spaced(buffers.send_bytes)),
        // A connection does not inherit metrics of earlier connections. So the order of connections makes
        // no difference, and neither does the measurement of the links.
        ("net/ipv4/tcp_no_metrics_save", "1".to_owned()),
        // IPv6 would send packets of its own. The kernel may have been built without IPv6.
        ("net/ipv6/conf/all/disable_ipv6", "1".to_owned()),
    ];
    Netns::for_each(wires.namespaces(), |_| {
        for (name, value) in &settings {
            let path = Path::new("/proc/sys").join(name);
            match fs::write(&path, value) {
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound && name.starts_with("net/ipv6") => {}
                written => written.map_err(|error| {
                    io::Error::other(format!("{name} could not be set to {value:?}: {error}"))
                })?,
            }
        }
        Ok(())
    })
    .map(drop)
}

fn spaced(values: [u32; 3]) -> String {
    values.map(|value| value.to_string()).join(" ")
}

const MASK: &str = "/proc/sys/net/core/rps_default_mask";

/// Whether the kernel can steer packets to the receiver's cores. It needs Linux 6.3 or newer with CONFIG_RPS.
pub fn can_receive_on_receiver() -> bool {
    Path::new(MASK).exists()
}

/// A mask in the form of the kernel: groups of 32 cores, as hexadecimal numbers.
fn mask(cores: &Cores) -> String {
    let count = cores.iter().max().unwrap_or(0) / 32 + 1;
    let group = |group: usize| {
        let inside = cores.iter().filter(|core| core / 32 == group);
        let bits = inside.fold(0u32, |bits, core| bits | 1 << (core % 32));
        format!("{bits:08x}")
    };
    let groups: Vec<String> = (0..count).rev().map(group).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_groups_of_32_cores() {
        for (cores, expected) in [
            ("0", "00000001"),
            ("1,4-7", "000000f2"),
            ("31,32,64", "00000001,00000001,80000000"),
        ] {
            assert_eq!(mask(&cores.parse().expect("cores")), expected);
        }
    }
}
