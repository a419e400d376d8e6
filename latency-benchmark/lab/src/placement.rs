//! Assigns processes to cores. A core here is what the kernel calls a CPU: one hardware thread.

mod jobs;

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use anyhow::{Context, Result, bail};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use run_format::{Cores, Placement, Sharing};

/// The cores that a process may use, in ascending order.
#[derive(Clone, Debug)]
pub struct Topology {
    cores: Vec<Core>,
    pub(crate) has_smt: bool,
}

#[derive(Clone, Copy, Debug)]
struct Core {
    number: usize,
    /// The first hardware thread of the same physical core.
    physical: usize,
    /// The first core with the same last cache.
    cache: usize,
}

impl Topology {
    /// The cores in the affinity mask of this process. The mask respects the process's cpuset.
    pub fn for_this_process() -> Result<Topology> {
        let mask = sched_getaffinity(Pid::from_raw(0))
            .context("the cores of this machine could not be read")?;
        let available = (0..CpuSet::count()).filter(|core| mask.is_set(*core) == Ok(true));
        Ok(Topology::read(Path::new(SYSFS), available))
    }

    /// Reads `sysfs`. A core without an entry there counts as a physical core of its own, and shares its cache with all;
    /// most virtual machines have no entries.
    fn read(sysfs: &Path, available: impl Iterator<Item = usize>) -> Topology {
        let mut has_smt = false;
        let cores = available.map(|number| {
            let folder = sysfs.join(format!("cpu{number}"));
            let list = |path: &str| -> Option<Cores> {
                let list = fs::read_to_string(folder.join(path));
                list.ok()?.parse().ok()
            };
            let siblings = list("topology/thread_siblings_list");
            has_smt |= siblings.as_ref().is_some_and(|all| all.count() > 1);
            let cache = |index: usize| list(&format!("cache/index{index}/shared_cpu_list"));
            let last_cache = (0..).map_while(cache).last();
            Core {
                number,
                physical: siblings.map_or(number, |all| all.first()),
                cache: last_cache.map_or(0, |all| all.first()),
            }
        });
        Topology {
            cores: cores.collect(),
            has_smt,
        }
    }

    pub fn available(&self) -> Cores {
        let cores = self.cores.iter().map(|core| core.number);
        Cores::new(cores).expect("a process runs on some core")
    }

    /// Chooses the cores:
    ///
    /// * central gets those that are asked for. If none are, it gets a core for each of its workers, as far as there are
    ///   enough. One core is left to the peers, or a physical core if there are several. Workers share physical cores
    ///   last;
    /// * the peers get all other cores except the SMT siblings of central's; if there are none, the siblings; and
    ///   on a machine with one core, that core.
    pub fn place(&self, workers: usize, asked: Option<Cores>) -> Result<Placement> {
        let available = self.available();
        let central = asked.unwrap_or_else(|| self.cores_for_central(workers));
        if let Some(core) = central.iter().find(|core| !available.contains(*core)) {
            bail!(
                "--central-core {core}: this process cannot use that core (available: {available})"
            );
        }
        let peers = self.cores_for_peers(&central);
        Ok(Placement {
            central: central.first(),
            sharing: self.sharing(&central, &peers),
            workers: (central.count() > 1).then_some(central),
            peers,
        })
    }

    /// A core for each of central's workers, as far as there are enough.
    fn cores_for_central(&self, workers: usize) -> Cores {
        let mut physical = grouped(&self.cores, |core| core.physical);
        let most = if physical.len() > 1 {
            physical.pop();
            workers
        } else {
            workers.min(physical[0].len() - 1).max(1)
        };
        let cores = Cores::new(one_of_each_first(&physical).take(most));
        cores.expect("a process runs on some core")
    }

    /// The cores that are not on central's physical cores, or else all but central's, or else central's.
    fn cores_for_peers(&self, central: &Cores) -> Cores {
        let taken = self.physical(central);
        let is_other = |core: &&Core| !central.contains(core.number);
        let is_apart = |core: &&Core| !taken.contains(&core.physical);
        let others = self.cores.iter().filter(is_other);
        let apart = others.clone().filter(is_apart);
        Cores::new(apart.map(|core| core.number))
            .or_else(|| Cores::new(others.map(|core| core.number)))
            .unwrap_or_else(|| central.clone())
    }

    /// A core that one of several peers has for itself, if there are enough cores for all.
    fn core_of(&self, peer: usize, peers: usize) -> Option<usize> {
        let physical = grouped(&self.cores, |core| core.physical);
        let is_enough = self.cores.len() >= peers;
        one_of_each_first(&physical).nth(peer).filter(|_| is_enough)
    }

    fn sharing(&self, central: &Cores, peers: &Cores) -> Sharing {
        if central.iter().any(|core| peers.contains(core)) {
            Sharing::Core
        } else if self.physical(central).is_disjoint(&self.physical(peers)) {
            Sharing::Nothing
        } else {
            Sharing::PhysicalCore
        }
    }

    fn physical(&self, cores: &Cores) -> BTreeSet<usize> {
        let those = self.cores.iter().filter(|core| cores.contains(core.number));
        those.map(|core| core.physical).collect()
    }
}

const SYSFS: &str = "/sys/devices/system/cpu";

/// The cores of peer `peer` of `peers`, counted from zero: a core of its own if the peers have at least one for each, else all
/// of the peers' cores. Peers share physical cores last.
pub fn cores_for_peer(peer: usize, peers: usize, placement: &Placement) -> Cores {
    let topology = Topology::read(Path::new(SYSFS), placement.peers.iter());
    let own = topology.core_of(peer, peers).map(Cores::one);
    own.unwrap_or_else(|| placement.peers.clone())
}

/// The numbers of cores: the first hardware thread of every physical core, then every second one, and so on.
fn one_of_each_first<'a>(physical: &'a [Vec<&'a Core>]) -> impl Iterator<Item = usize> {
    let threads = physical.iter().map(Vec::len).max().unwrap_or(0);
    let rank = |rank: usize| physical.iter().filter_map(move |threads| threads.get(rank));
    (0..threads).flat_map(rank).map(|core| core.number)
}

/// Groups items with the same key, in the order of each group's first item.
fn grouped<T>(items: impl IntoIterator<Item = T>, key: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for item in items {
        match groups.iter_mut().find(|group| key(&group[0]) == key(&item)) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

/// Moves the calling thread to these cores. Threads and processes that it starts later inherit them.
pub fn move_thread_to(cores: &Cores) -> io::Result<()> {
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
        let physical = |core: usize| {
            let mut groups = smt.iter().map(|group| cores(group));
            let group = groups.find(|group| group.contains(core));
            group.map_or(core, |group| group.first())
        };
        let available = cores(available);
        let cores = available.iter().map(|number| Core {
            number,
            physical: physical(number),
            cache: 0,
        });
        Topology {
            cores: cores.collect(),
            has_smt: !smt.is_empty(),
        }
    }

    fn placed(topology: &Topology) -> (usize, String, Sharing) {
        let placement = topology.place(1, None).expect("nothing is asked for");
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
        let placement = single.place(1, None).expect("nothing is asked for");
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
        let asked = four.place(1, Some(cores("3"))).expect("it exists");
        assert_eq!((asked.central, asked.sharing), (3, Sharing::Nothing));
        let error = four
            .place(1, Some(cores("9")))
            .expect_err("there is no core 9");
        assert_eq!(
            error.to_string(),
            "--central-core 9: this process cannot use that core (available: 0-3)"
        );
    }

    #[test]
    fn every_worker_has_a_core_of_its_own_as_far_as_there_are_enough() {
        let plain = topology("0-7", &[]);
        let smt = topology("0-7", &["0-1", "2-3", "4-5", "6-7"]);
        let one_physical = topology("0-1", &["0-1"]);
        let two = topology("0-1", &[]);
        for (topology, workers, central, peers) in [
            (&plain, 4, "0-3", "4-7"),
            (&plain, 7, "0-6", "7"),
            (&plain, 9, "0-6", "7"),
            // Siblings stay idle, or are used last.
            (&smt, 2, "0,2", "4-7"),
            (&smt, 4, "0-2,4", "6-7"),
            (&smt, 8, "0-5", "6-7"),
            (&two, 2, "0", "1"),
            (&one_physical, 2, "0", "1"),
        ] {
            let placement = topology.place(workers, None).expect("it fits");
            let found = (
                placement.central_cores().to_string(),
                placement.peers.to_string(),
            );
            assert_eq!(found, (central.to_owned(), peers.to_owned()), "{workers}");
            let is_short = placement.central_cores().count() < workers;
            assert_eq!(placement.too_few_cores(workers).is_some(), is_short);
        }
        let asked = plain.place(4, Some(cores("2-5"))).expect("all exist");
        assert_eq!((asked.central, asked.peers), (2, cores("0-1,6-7")));
    }

    #[test]
    fn every_peer_has_a_core_of_its_own_if_there_is_one_for_each() {
        for (cores, smt, peers, expected) in [
            ("1-7", &[][..], 5, Some([1, 2, 3, 4, 5])),
            ("1-5", &[], 5, Some([1, 2, 3, 4, 5])),
            ("1-4", &[], 5, None),
            // Siblings are used last.
            (
                "2-9",
                &["2-3", "4-5", "6-7", "8-9"],
                5,
                Some([2, 4, 6, 8, 3]),
            ),
        ] {
            let topology = topology(cores, smt);
            let own = [0, 1, 2, 3, 4].map(|peer| topology.core_of(peer, peers));
            assert_eq!(own, expected.map_or([None; 5], |own| own.map(Some)));
        }
    }

    #[test]
    fn this_machine_can_be_read() {
        let topology = Topology::for_this_process().expect("sysfs and an affinity mask");
        topology.place(1, None).expect("at least one core");
    }
}
