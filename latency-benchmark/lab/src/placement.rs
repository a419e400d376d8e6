//! Which core runs what. A core here is what the kernel calls a CPU: one hardware thread.

use std::{
    fmt, fs, io, iter,
    path::{Path, PathBuf},
};

use nix::{
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};

use crate::{Cores, cores::parse_cores};

/// Why nothing can be placed as asked.
#[derive(Debug, thiserror::Error)]
pub enum PlacementError {
    /// The core does not exist or is outside of the affinity mask.
    #[error("core {core} is not available to this process (available: {available})")]
    Unavailable {
        /// The core asked for.
        core: usize,
        /// Those that could be.
        available: Cores,
    },
    /// The machine cannot be read.
    #[error("the cores of this machine could not be read")]
    Unreadable(#[source] io::Error),
}

/// The cores that a process may use, and which of them are threads of one physical core.
#[derive(Clone, Debug)]
pub struct Topology {
    available: Cores,
    siblings: Vec<Cores>,
}

impl Topology {
    /// Of this process: its affinity mask, which its cpuset has narrowed already.
    pub fn of_this_process() -> Result<Topology, PlacementError> {
        let mask = sched_getaffinity(Pid::from_raw(0))
            .map_err(|errno| PlacementError::Unreadable(errno.into()))?;
        let available = (0..CpuSet::count()).filter(|core| mask.is_set(*core) == Ok(true));
        let available = Cores::new(available).ok_or_else(|| {
            PlacementError::Unreadable(io::Error::other("the affinity mask is empty"))
        })?;
        Ok(Topology::read(
            Path::new("/sys/devices/system/cpu"),
            available,
        ))
    }

    /// Of the machine described under `sysfs`. Where that says nothing of a core, it is taken to be
    /// a physical core of its own, as in most virtual machines.
    pub fn read(sysfs: &Path, available: Cores) -> Topology {
        let siblings = available.iter().map(|core| {
            let path: PathBuf = sysfs.join(format!("cpu{core}/topology/thread_siblings_list"));
            fs::read_to_string(path)
                .ok()
                .and_then(|list| parse_cores(&list))
                .unwrap_or_else(|| Cores::one(core))
        });
        Topology {
            siblings: siblings.collect(),
            available,
        }
    }

    /// The cores that may be used.
    pub fn available(&self) -> &Cores {
        &self.available
    }

    /// Whether two hardware threads share a physical core anywhere.
    pub fn has_smt(&self) -> bool {
        self.siblings
            .iter()
            .any(|siblings| siblings.iter().nth(1).is_some())
    }

    fn siblings(&self, core: usize) -> Option<&Cores> {
        iter::zip(self.available.iter(), &self.siblings)
            .find_map(|(id, siblings)| (id == core).then_some(siblings))
    }

    fn check(&self, core: usize) -> Result<usize, PlacementError> {
        if self.available.contains(core) {
            return Ok(core);
        }
        Err(PlacementError::Unavailable {
            core,
            available: self.available.clone(),
        })
    }
}

/// Where central runs, and where everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Central's core.
    pub central: usize,
    /// Those of the peers and of the delay line.
    pub peers: Cores,
    /// What central shares with them.
    pub sharing: Sharing,
}

/// What central and the peers have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// No core.
    Nothing,
    /// A physical core, by two of its hardware threads.
    PhysicalCore,
    /// A core.
    Core,
}

impl Placement {
    /// The first core for central; for the rest all others but central's SMT siblings, or those
    /// siblings where there is nothing else, or even central's core.
    pub fn choose(
        topology: &Topology,
        central: Option<usize>,
        peers: Option<Cores>,
    ) -> Result<Placement, PlacementError> {
        let central = match central {
            Some(central) => topology.check(central)?,
            None => first_beside(topology, peers.as_ref()),
        };
        let peers = match peers {
            Some(peers) => {
                peers
                    .iter()
                    .try_for_each(|core| topology.check(core).map(drop))?;
                peers
            }
            None => apart_from(topology, central),
        };
        Ok(Placement {
            central,
            sharing: sharing(topology, central, &peers),
            peers,
        })
    }
}

/// The first core that is not asked for the peers, if there is one.
fn first_beside(topology: &Topology, peers: Option<&Cores>) -> usize {
    let mut available = topology.available.iter();
    let taken = |core: &usize| peers.is_some_and(|peers| peers.contains(*core));
    available
        .clone()
        .find(|core| !taken(core))
        .or_else(|| available.next())
        .expect("there is at least one core")
}

fn apart_from(topology: &Topology, central: usize) -> Cores {
    let siblings = topology.siblings(central);
    let others = || {
        topology
            .available
            .iter()
            .filter(move |core| *core != central)
    };
    let is_sibling = |core: &usize| siblings.is_some_and(|siblings| siblings.contains(*core));
    Cores::new(others().filter(|core| !is_sibling(core)))
        .or_else(|| Cores::new(others()))
        .unwrap_or_else(|| Cores::one(central))
}

fn sharing(topology: &Topology, central: usize, peers: &Cores) -> Sharing {
    let siblings = topology.siblings(central);
    if peers.contains(central) {
        Sharing::Core
    } else if siblings.is_some_and(|siblings| siblings.iter().any(|core| peers.contains(core))) {
        Sharing::PhysicalCore
    } else {
        Sharing::Nothing
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Placement {
            central,
            peers,
            sharing,
        } = self;
        let plural = if peers.iter().nth(1).is_some() {
            "s"
        } else {
            ""
        };
        match sharing {
            Sharing::Nothing => write!(
                f,
                "central alone on core {central}, peers and delay line on core{plural} {peers}"
            ),
            Sharing::PhysicalCore => write!(
                f,
                "central on core {central}, peers and delay line on core{plural} {peers}, which \
                 shares a physical core with central's: they slow each other down"
            ),
            Sharing::Core => write!(
                f,
                "central on core {central}, peers and delay line on core{plural} {peers}: central \
                 shares its core, so its waits include the peers' work"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(text: &str) -> Cores {
        text.parse().expect("a valid list")
    }

    /// `smt` lists the groups of hardware threads that share a physical core.
    fn topology(available: &str, smt: &[&str]) -> Topology {
        let available = cores(available);
        let siblings = available.iter().map(|core| {
            let mut groups = smt.iter().map(|group| cores(group));
            groups
                .find(|group| group.contains(core))
                .unwrap_or_else(|| Cores::one(core))
        });
        Topology {
            siblings: siblings.collect(),
            available,
        }
    }

    fn placed(topology: &Topology) -> (usize, String, Sharing) {
        let placement = Placement::choose(topology, None, None).expect("nothing is asked for");
        (
            placement.central,
            placement.peers.to_string(),
            placement.sharing,
        )
    }

    #[test]
    fn on_two_cores_central_is_alone_on_the_first() {
        assert_eq!(
            placed(&topology("0-1", &[])),
            (0, "1".into(), Sharing::Nothing)
        );
    }

    #[test]
    fn centrals_smt_sibling_stays_idle_where_there_is_a_choice() {
        let neighbours = topology("0-7", &["0-1", "2-3", "4-5", "6-7"]);
        assert_eq!(placed(&neighbours), (0, "2-7".into(), Sharing::Nothing));
        let far = topology("0-7", &["0,4", "1,5", "2,6", "3,7"]);
        assert_eq!(placed(&far), (0, "1-3,5-7".into(), Sharing::Nothing));
    }

    #[test]
    fn the_smt_sibling_is_better_than_centrals_own_core() {
        let one_physical = topology("0-1", &["0-1"]);
        assert_eq!(
            placed(&one_physical),
            (0, "1".into(), Sharing::PhysicalCore)
        );
    }

    #[test]
    fn a_single_core_is_shared_and_the_text_says_so() {
        let single = topology("5", &[]);
        assert_eq!(placed(&single), (5, "5".into(), Sharing::Core));
        let placement = Placement::choose(&single, None, None).expect("nothing is asked for");
        assert!(placement.to_string().contains("shares its core"));
    }

    #[test]
    fn an_affinity_mask_is_honoured() {
        let masked = topology("2,3,6", &["2,6"]);
        assert_eq!(placed(&masked), (2, "3".into(), Sharing::Nothing));
    }

    #[test]
    fn what_is_asked_for_is_placed_so_and_checked() {
        let four = topology("0-3", &[]);
        let asked = Placement::choose(&four, Some(3), Some(cores("0-1"))).expect("both exist");
        assert_eq!((asked.central, asked.sharing), (3, Sharing::Nothing));
        let beside = Placement::choose(&four, None, Some(cores("0"))).expect("it exists");
        assert_eq!(beside.central, 1);
        let same = Placement::choose(&four, Some(1), Some(cores("1-2"))).expect("both exist");
        assert_eq!(same.sharing, Sharing::Core);
        let error = Placement::choose(&four, Some(9), None).expect_err("there is no core 9");
        assert_eq!(
            error.to_string(),
            "core 9 is not available to this process (available: 0-3)"
        );
    }

    #[test]
    fn this_machine_can_be_read() {
        let topology = Topology::of_this_process().expect("sysfs and an affinity mask");
        Placement::choose(&topology, None, None).expect("at least one core");
    }
}
