//! The network cards by which this host reaches others.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::Path;
use std::process::Command;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::sys::socket::SockaddrStorage;
use program::{ChildLimits, system_tool_or_usr_bin};
use run_format::{Cores, NetworkCard};

/// The cards by which packets to these addresses leave, with their present settings.
pub fn cards_to(addresses: impl Iterator<Item = IpAddr>) -> Vec<NetworkCard> {
    let interfaces: BTreeSet<String> = addresses.filter_map(interface_to).collect();
    let cards = interfaces.into_iter().map(|interface| NetworkCard {
        offloads: offloads(&interface),
        ..card(Path::new("/"), interface)
    });
    cards.collect()
}

fn interface_to(address: IpAddr) -> Option<String> {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    // This only looks up the route, whatever the port.
    socket.connect((address, 9)).ok()?;
    let own = socket.local_addr().ok()?.ip();
    let mut interfaces = getifaddrs().ok()?;
    let interface = interfaces.find(|interface| ip(interface) == Some(own))?;
    Some(interface.interface_name)
}

fn ip(interface: &InterfaceAddress) -> Option<IpAddr> {
    let address: &SockaddrStorage = interface.address.as_ref()?;
    let v4 = address.as_sockaddr_in().map(|v4| v4.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
}

/// Reads sysfs and procfs below `root`.
fn card(root: &Path, interface: String) -> NetworkCard {
    let folder = root.join("sys/class/net").join(&interface);
    let speed = fs::read_to_string(folder.join("speed")).ok();
    let driver = fs::read_link(folder.join("device/driver")).ok();
    // The interrupts of a virtual card belong to the device that carries it.
    let mut paths = ["device/msi_irqs", "device/../msi_irqs"].into_iter();
    let interrupts = paths.find_map(|path| fs::read_dir(folder.join(path)).ok());
    let cores_of = |interrupt: io::Result<DirEntry>| -> Option<Cores> {
        let folder = root.join("proc/irq").join(interrupt.ok()?.file_name());
        let mut lists = ["effective_affinity_list", "smp_affinity_list"].into_iter();
        lists.find_map(|name| fs::read_to_string(folder.join(name)).ok()?.parse().ok())
    };
    let cores = interrupts.into_iter().flatten().filter_map(cores_of);
    let cores: BTreeSet<usize> = cores
        .flat_map(|cores| Vec::from_iter(cores.iter()))
        .collect();
    NetworkCard {
        driver: driver.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned())),
        speed_mbit: speed.and_then(|text| text.trim().parse().ok()),
        interrupt_cores: Cores::new(cores),
        offloads: None,
        interface,
    }
}

fn offloads(interface: &str) -> Option<Vec<String>> {
    let mut ethtool = Command::new(system_tool_or_usr_bin("ethtool"));
    let answer = ChildLimits::SHORT_ANSWER.output(ethtool.args(["-k", interface]));
    let output = answer.ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let on = text
        .lines()
        .filter_map(|line| Some(line.split_once(": on")?.0));
    // Indented lines are parts of an offload.
    let is_offload = |name: &&str| {
        !name.starts_with('\t') && (name.ends_with("checksumming") || name.ends_with("-offload"))
    };
    Some(on.filter(is_offload).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_card_is_read_from_sysfs_and_its_interrupts_from_procfs() {
        let root = std::env::temp_dir().join(format!("cards-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            fs::write(path, text).expect("written");
        };
        write("sys/class/net/eth0/speed", "25000\n");
        write("sys/devices/pci0/virtio0/x", "");
        write("sys/devices/pci0/msi_irqs/24", "");
        write("sys/devices/pci0/msi_irqs/25", "");
        write("proc/irq/24/effective_affinity_list", "3\n");
        write("proc/irq/25/effective_affinity_list", "\n");
        write("proc/irq/25/smp_affinity_list", "0-1\n");
        let device = root.join("sys/class/net/eth0/device");
        symlink("../../../devices/pci0/virtio0", device).expect("linked");
        let driver = root.join("sys/devices/pci0/virtio0/driver");
        symlink("../../bus/drivers/virtio_net", driver).expect("linked");
        let seen = card(&root, "eth0".to_owned());
        fs::remove_dir_all(&root).expect("removed");
        assert_eq!(
            seen.to_string(),
            "eth0 (driver: virtio_net; speed in Mbit/s: 25000; cores of its interrupts: 0-1,3; \
             offloads that are on: unknown)"
        );
        let none = card(&root, "lo".to_owned());
        assert_eq!((none.driver, none.interrupt_cores), (None, None));
    }

    #[test]
    fn this_host_reaches_itself_by_its_loopback_interface() {
        let localhost = IpAddr::from(Ipv4Addr::LOCALHOST);
        let [card] = &cards_to([localhost, localhost].into_iter())[..] else {
            panic!("one interface")
        };
        assert_eq!(card.interface, "lo");
    }
}
