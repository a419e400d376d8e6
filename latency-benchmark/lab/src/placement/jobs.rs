//! Places for cells that are measured at the same time.

use std::iter;

use anyhow::Result;

use super::{Core, Topology, grouped};
use run_format::Placement;

impl Topology {
    /// Returns at most `most` places, as many as fit. A place has as many physical cores for the peers as for central's
    /// workers. No physical core belongs to two places. The cores of a place share a cache, if one is large enough.
    pub fn places(&self, workers: usize, most: usize) -> Result<Vec<Placement>> {
        let physical = grouped(self.cores.iter().copied(), |core| core.physical);
        let mut caches = grouped(physical.clone(), |threads| threads[0].cache);
        let fits = |caches: &[Vec<Vec<Core>>]| -> usize {
            caches.iter().map(|cores| cores.len() / (2 * workers)).sum()
        };
        if fits(&caches) == 0 {
            caches = vec![physical];
        }
        let count = most.min(fits(&caches));
        if count < 2 {
            return Ok(vec![self.place(workers, None)?]);
        }
        let mut places_of = vec![0; caches.len()];
        for _ in 0..count {
            // The next place goes to the cache with the most cores for each of its places. `rev` prefers the first of equal
            // caches.
            let cores_of_each = |cache: &usize| caches[*cache].len() / (places_of[*cache] + 1);
            let roomiest = (0..caches.len()).rev().max_by_key(cores_of_each);
            places_of[roomiest.expect("there is a cache")] += 1;
        }
        let mut places = Vec::new();
        for (cores, count) in iter::zip(caches, places_of) {
            for number in 0..count {
                let (from, to) = (
                    number * cores.len() / count,
                    (number + 1) * cores.len() / count,
                );
                let part = Topology {
                    cores: cores[from..to].concat(),
                    has_smt: self.has_smt,
                };
                places.push(part.place(workers, None)?);
            }
        }
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with `cores` hardware threads. Each physical core has `threads` neighbouring ones, and each cache serves
    /// `cache`.
    fn machine(cores: usize, threads: usize, cache: usize) -> Topology {
        let core = |number: usize| Core {
            number,
            physical: number / threads * threads,
            cache: number / cache * cache,
        };
        Topology {
            cores: (0..cores).map(core).collect(),
            has_smt: threads > 1,
        }
    }

    #[test]
    fn places_share_neither_physical_cores_nor_caches_that_suffice() {
        let places = |machine: Topology, workers, jobs| {
            let places = machine.places(workers, jobs).expect("it fits");
            let text = |place: &Placement| format!("{}|{}", place.central_cores(), place.peers);
            places.iter().map(text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(places(machine(2, 1, 2), 1, usize::MAX), "0|1");
        assert_eq!(places(machine(2, 1, 2), 1, 3), "0|1");
        assert_eq!(places(machine(4, 2, 4), 1, usize::MAX), "0|2-3");
        assert_eq!(places(machine(8, 1, 8), 1, 3), "0|1 2|3-4 5|6-7");
        assert_eq!(places(machine(8, 1, 8), 4, usize::MAX), "0-3|4-7");
        assert_eq!(places(machine(8, 2, 8), 1, usize::MAX), "0|2-3 4|6-7");
        // Three places of two caches: one cache has two, and the other one.
        assert_eq!(places(machine(16, 1, 8), 1, 3), "0|1-3 4|5-7 8|9-15");
        // No cache is large enough for two workers and two cores of peers.
        assert_eq!(places(machine(8, 1, 2), 2, usize::MAX), "0-1|2-3 4-5|6-7");
    }

    /// METHODS.md has this table.
    #[test]
    fn the_plan_for_larger_machines_is_the_documented_one() {
        let methods = include_str!("../../../../analysis/METHODS.md");
        for (name, cores, threads, cache) in [
            ("16 cores, one cache", 16, 1, 16),
            ("16 cores of two threads, caches of 8 cores", 32, 2, 16),
            ("64 cores of two threads, caches of 8 cores", 128, 2, 16),
            ("128 cores of two threads, caches of 8 cores", 256, 2, 16),
        ] {
            let jobs = |workers| {
                let places = machine(cores, threads, cache).places(workers, usize::MAX);
                places.expect("it fits").len()
            };
            let row = format!("| {name} | {} | {} |", jobs(1), jobs(4));
            assert!(methods.contains(&row), "{row}");
        }
    }
}
