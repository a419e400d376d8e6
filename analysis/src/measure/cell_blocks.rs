//! The blocks of a cell. In a block all variants take turns: budgets in slices of one launch, or programs in
//! launches of their own.

use std::collections::{BTreeMap, BTreeSet};

use run_format::Site;

use crate::load::{
    blocks::Disturbed,
    loaded_run::{LoadedRun, LoadedSlice},
};

/// The complete blocks of a cell. With one program, a block is a slice of each budget. With several, it is a
/// launch of each, and the slices of a budget in a launch are summed.
pub(super) struct CellBlocks<'a> {
    pub(super) launches: Vec<&'a LoadedRun>,
    /// By run, or by host if several measured the cell: the launches of a host have more in common than others. Launches of
    /// several programs are blocks of a single run, since the launches of a block share nothing else.
    runs: Vec<Vec<Block<'a>>>,
}

/// By variant the slices, each with its launch.
type Block<'a> = Vec<Vec<(&'a LoadedRun, &'a LoadedSlice)>>;

#[derive(Clone, Debug)]
pub(crate) struct SweepSetup {
    /// Budgets that take turns inside a program.
    pub(crate) budgets: usize,
    /// Programs that take turns; 1 where there is one.
    pub(crate) subjects: usize,
    pub(crate) repeat: u32,
    pub(crate) threshold_ns: u64,
    /// That the verdict is about.
    pub(crate) site: Site,
    pub(crate) disturbed: Disturbed,
    /// The baseline, and its A/A control if there is one. Candidates are compared with both together: they are the same,
    /// took their turns at random, and twice as much is known of them.
    pub(crate) reference: Vec<usize>,
}

impl SweepSetup {
    /// Every variant by itself, and last what candidates are compared with.
    pub(super) fn estimated(&self) -> impl Iterator<Item = Vec<usize>> {
        let variants = self.budgets * self.subjects;
        let alone = (0..variants).map(|variant| vec![variant]);
        alone.chain([self.reference.clone()])
    }
}

fn by_host<T>(blocks: impl Iterator<Item = (Option<String>, Vec<T>)>) -> Vec<Vec<T>> {
    let mut by_host: BTreeMap<Option<String>, Vec<T>> = BTreeMap::new();
    for (host, blocks) in blocks {
        by_host.entry(host).or_default().extend(blocks);
    }
    by_host.into_values().collect()
}

impl<'a> CellBlocks<'a> {
    pub(super) fn of_runs(runs: &'a [LoadedRun], setup: &SweepSetup) -> CellBlocks<'a> {
        if setup.subjects > 1 {
            return CellBlocks::of_launches(runs, setup);
        }
        let blocks = |run: &'a LoadedRun| -> Vec<Block<'a>> {
            let block = |slices: &Vec<usize>| {
                let slices = slices.iter();
                slices.map(|at| vec![(run, &run.slices[*at])]).collect()
            };
            run.blocks.iter().map(block).collect()
        };
        let hosts: BTreeSet<_> = runs.iter().map(LoadedRun::host).collect();
        CellBlocks {
            launches: runs.iter().collect(),
            runs: match hosts.len() {
                0 | 1 => runs.iter().map(blocks).collect(),
                _ => by_host(runs.iter().map(|run| (run.host(), blocks(run)))),
            },
        }
    }

    /// A subject without any launch, because all of them failed, does not cost the others their blocks.
    fn of_launches(runs: &'a [LoadedRun], setup: &SweepSetup) -> CellBlocks<'a> {
        let present: BTreeSet<usize> = runs.iter().map(|run| run.subject).collect();
        let launches = |number: u32| {
            let launch = |subject: &usize| {
                let mut launches = runs.iter();
                launches.find(|run| run.number == number && run.subject == *subject)
            };
            present.iter().map(launch).collect::<Option<Vec<_>>>()
        };
        // Without the first subject there is nothing to compare with.
        let numbers = (1..=setup.repeat).filter(|_| present.contains(&0));
        let complete: Vec<Vec<&LoadedRun>> = numbers.filter_map(launches).collect();
        let block = |launches: &Vec<&'a LoadedRun>| {
            let variants = (0..setup.subjects).flat_map(|subject| {
                let run = launches.iter().find(|run| run.subject == subject).copied();
                (0..setup.budgets).map(move |budget| {
                    let slices = run.into_iter().flat_map(|run| {
                        let blocks = run.blocks.iter();
                        blocks.map(move |block| (run, &run.slices[block[budget]]))
                    });
                    slices.collect()
                })
            });
            (launches[0].host(), vec![variants.collect()])
        };
        CellBlocks {
            runs: by_host(complete.iter().map(block)),
            launches: complete.concat(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks() == 0
    }

    pub(super) fn blocks(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    /// What some variants have in every block, summed up. None if any slice has none.
    pub(super) fn of<T>(
        &self,
        variants: &[usize],
        part: impl Fn(&'a LoadedRun, &'a LoadedSlice) -> Option<T>,
        sum: impl Fn(Vec<T>) -> T,
    ) -> Option<Vec<Vec<T>>> {
        let sum = |mut parts: Vec<T>| match parts.len() {
            0 => None,
            1 => parts.pop(),
            _ => Some(sum(parts)),
        };
        let of_variant = |slices: &Vec<(&'a LoadedRun, &'a LoadedSlice)>| {
            let parts = slices.iter().map(|(run, slice)| part(run, slice));
            sum(parts.collect::<Option<_>>()?)
        };
        let of_block = |block: &Block<'a>| {
            let parts = variants.iter().map(|variant| of_variant(&block[*variant]));
            sum(parts.collect::<Option<_>>()?)
        };
        let of_run = |blocks: &Vec<Block<'a>>| blocks.iter().map(of_block).collect();
        self.runs.iter().map(of_run).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_of_a_host_are_one_run() {
        let launches = [("b", vec![1]), ("a", vec![2, 3]), ("b", vec![4])];
        let launches = launches.into_iter();
        let launches = launches.map(|(host, blocks)| (Some(host.to_owned()), blocks));
        assert_eq!(by_host(launches), [vec![2, 3], vec![1, 4]]);
    }
}
