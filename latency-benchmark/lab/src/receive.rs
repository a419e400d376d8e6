//! Has packets received on the receiver's cores.
//!
//! A virtual link hands a packet to the receiver's network stack on the core that sends it. So central's core also does
//! the peers' receiving. With network cards each side receives on a core of its own. The kernel's receive packet
//! steering does the same for links. The mask of a namespace holds for links that are created later, and can be set
//! without being root.

use std::path::Path;
use std::{fs, io};

use lab_types::ReceiveMasks;

use crate::netns::Netns;
use crate::{Cores, Placement};

const MASK: &str = "/proc/sys/net/core/rps_default_mask";

/// Whether the kernel can steer packets to the receiver's cores. It needs Linux 6.3 or newer with CONFIG_RPS.
pub fn can_receive_on_receiver() -> bool {
    Path::new(MASK).exists()
}

/// Central's namespace is the first of `namespaces`. Returns what the kernel made of it.
pub(crate) fn on_receiver<'a>(
    namespaces: impl Iterator<Item = &'a Netns> + Send,
    placement: &Placement,
) -> io::Result<ReceiveMasks> {
    let central = mask(&placement.central_cores());
    let peers = mask(&placement.peers);
    let set = Netns::for_each(namespaces, |namespace| {
        fs::write(MASK, if namespace == 0 { &central } else { &peers })?;
        Ok(fs::read_to_string(MASK)?.trim().to_owned())
    })?;
    // There is at least one peer, and all of them have the same.
    Ok(ReceiveMasks {
        central: set[0].clone(),
        peers: set[1].clone(),
    })
}

/// In the kernel's form: groups of 32 cores, as hexadecimal numbers.
fn mask(cores: &Cores) -> String {
    let groups = cores.iter().max().unwrap_or(0) / 32 + 1;
    let group = |group: usize| {
        let inside = cores.iter().filter(|core| core / 32 == group);
        let bits = inside.fold(0u32, |bits, core| bits | 1 << (core % 32));
        format!("{bits:08x}")
    };
    let groups: Vec<String> = (0..groups).rev().map(group).collect();
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
