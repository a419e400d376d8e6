//! Assigns processes to cores. A core here is what the kernel calls a CPU: one hardware thread.

use std::{
    fs, io, iter,
    path::{Path, PathBuf},
};

use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};
use run_format::network::{Cores, Placement, Sharing};

/// Why the processes cannot be placed as requested.
#[derive(Debug, thiserror::Error)]
pub enum PlacementError {
    /// The core does not exist or is not in the affinity mask.
    #[error("{option} {core}: this process cannot use that core (available: {available})")]
    Unavailable {
        /// The command-line option that asks for the core.
        option: &'static str,
        /// The requested core.
        core: usize,
        /// The available cores.
        available: Cores,
    },
    /// The cores of this machine could not be read.
    #[error("the cores of this machine could not be read")]
    Unreadable(#[source] io::Error),
}

/// The cores that a process may use, and which of them belong to the same physical core.
#[derive(Clone, Debug)]
pub struct Topology {
    available: Cores,
    siblings: Vec<Cores>,
}

impl Topology {
    /// The cores in the affinity mask of this process. The mask respects the process's cpuset.
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

    /// Reads `sysfs`. A core without an entry there counts as a physical core of its own; most virtual
    /// machines have no entries.
    fn read(sysfs: &Path, available: Cores) -> Topology {
        let siblings = available.iter().map(|core| {
            let path: PathBuf = sysfs.join(format!("cpu{core}/topology/thread_siblings_list"));
            fs::read_to_string(path)
                .ok()
                .and_then(|list| list.parse().ok())
                .unwrap_or_else(|| Cores::one(core))
        });
        Topology {
            siblings: siblings.collect(),
            available,
        }
    }

    /// The cores that the process may use.
    pub fn available(&self) -> &Cores {
        &self.available
    }

    /// Whether any physical core has several hardware threads.
    pub fn has_smt(&self) -> bool {
        self.siblings
            .iter()
            .any(|siblings| siblings.iter().nth(1).is_some())
    }

    fn siblings(&self, core: usize) -> Option<&Cores> {
        iter::zip(self.available.iter(), &self.siblings)
            .find_map(|(id, siblings)| (id == core).then_some(siblings))
    }

    fn check(&self, option: &'static str, core: usize) -> Result<usize, PlacementError> {
        if self.available.contains(core) {
            return Ok(core);
        }
        Err(PlacementError::Unavailable {
            option,
            core,
            available: self.available.clone(),
        })
    }

    /// Chooses the cores that are not given:
    ///
    /// * central gets the first core that the peers do not have;
    /// * the peers get all other cores except central's SMT siblings; if there are none, the siblings; and
    ///   on a machine with one core, that core.
    pub fn place(
        &self,
        central: Option<usize>,
        peers: Option<Cores>,
    ) -> Result<Placement, PlacementError> {
        let central = match central {
            Some(central) => self.check("--central-core", central)?,
            None => first_beside(self, peers.as_ref()),
        };
        let peers = match peers {
            Some(peers) => {
                peers
                    .iter()
                    .try_for_each(|core| self.check("--peer-cores", core).map(drop))?;
                peers
            }
            None => apart_from(self, central),
        };
        Ok(Placement {
            central,
            sharing: sharing(self, central, &peers),
            peers,
        })
    }
}

/// The first core that the peers do not have, or else the first core.
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

/// Moves the calling thread to these cores.
pub fn move_to(cores: &Cores) -> io::Result<()> {
    Ok(sched_setaffinity(Pid::from_raw(0), &affinity(cores)?)?)
}

pub(crate) fn affinity(cores: &Cores) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for core in cores.iter() {
        set.set(core)?;
    }
    Ok(set)
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
        let placement = topology.place(None, None).expect("nothing is asked for");
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
    fn centrals_smt_sibling_stays_idle_if_there_are_other_cores() {
        let neighbours = topology("0-7", &["0-1", "2-3", "4-5", "6-7"]);
        assert_eq!(placed(&neighbours), (0, "2-7".into(), Sharing::Nothing));
        let far = topology("0-7", &["0,4", "1,5", "2,6", "3,7"]);
        assert_eq!(placed(&far), (0, "1-3,5-7".into(), Sharing::Nothing));
    }

    #[test]
    fn the_peers_prefer_the_smt_sibling_to_centrals_core() {
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
        let placement = single.place(None, None).expect("nothing is asked for");
        assert!(placement.to_string().contains("shares its core"));
    }

    #[test]
    fn only_cores_of_the_affinity_mask_are_used() {
        let masked = topology("2,3,6", &["2,6"]);
        assert_eq!(placed(&masked), (2, "3".into(), Sharing::Nothing));
    }

    #[test]
    fn requested_cores_are_used_if_they_exist() {
        let four = topology("0-3", &[]);
        let asked = four.place(Some(3), Some(cores("0-1"))).expect("both exist");
        assert_eq!((asked.central, asked.sharing), (3, Sharing::Nothing));
        let beside = four.place(None, Some(cores("0"))).expect("it exists");
        assert_eq!(beside.central, 1);
        let same = four.place(Some(1), Some(cores("1-2"))).expect("both exist");
        assert_eq!(same.sharing, Sharing::Core);
        let error = four.place(Some(9), None).expect_err("there is no core 9");
        assert_eq!(
            error.to_string(),
            "--central-core 9: this process cannot use that core (available: 0-3)"
        );
    }

    #[test]
    fn this_machine_can_be_read() {
        let topology = Topology::of_this_process().expect("sysfs and an affinity mask");
        topology.place(None, None).expect("at least one core");
    }
}
