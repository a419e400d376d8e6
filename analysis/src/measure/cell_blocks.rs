//! The blocks of a cell. In a block all variants take turns: budgets in slices of one launch, or programs in
//! launches of their own.

use std::collections::{BTreeMap, BTreeSet};

use run_format::Site;

use crate::load::{
    blocks::Disturbed,
    loaded_run::{LoadedRun, LoadedSlice},
};

/// The complete blocks of a cell. A block is a slice of each budget, of each program if these take turns. If programs
/// are launched one after the other, it is a launch of each, and the slices of a budget in a launch are summed.
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
    /// Whether they are alive at the same time.
    pub(crate) takes_turns: bool,
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

/// The launches of a host have more in common than those of several.
fn by_launch_or_host<T>(launches: Vec<(Option<String>, Vec<T>)>) -> Vec<Vec<T>> {
    let hosts: BTreeSet<_> = launches.iter().map(|(host, _)| host).collect();
    match hosts.len() {
        0 | 1 => launches.into_iter().map(|(_, blocks)| blocks).collect(),
        _ => by_host(launches.into_iter()),
    }
}

impl<'a> CellBlocks<'a> {
    pub(super) fn of_runs(runs: &'a [LoadedRun], setup: &SweepSetup) -> CellBlocks<'a> {
        if setup.subjects > 1 && setup.takes_turns {
            return CellBlocks::of_turns(runs, setup);
        }
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
        CellBlocks {
            launches: runs.iter().collect(),
            runs: by_launch_or_host(runs.iter().map(|run| (run.host(), blocks(run))).collect()),
        }
    }

    /// Of each launch the blocks that every program has. A program without any launch does not cost the others theirs.
    fn of_turns(runs: &'a [LoadedRun], setup: &SweepSetup) -> CellBlocks<'a> {
        let present: BTreeSet<usize> = runs.iter().map(|run| run.subject).collect();
        let numbered = |run: &'a LoadedRun| -> BTreeMap<u32, &'a Vec<usize>> {
            let number = |block: &Vec<usize>| run.slices[block[0]].row.block;
            run.blocks
                .iter()
                .map(|block| (number(block), block))
                .collect()
        };
        let of_launch = |number: u32| {
            let launch = runs.iter().filter(|run| run.number == number);
            let programs: BTreeMap<usize, _> = launch
                .map(|run| (run.subject, (run, numbered(run))))
                .collect();
            let (first, of_first) = programs
                .get(&0)
                .filter(|_| programs.len() == present.len())?;
            let block = |number: &u32| -> Option<Block<'a>> {
                let mut block: Block<'a> = vec![Vec::new(); setup.budgets * setup.subjects];
                for (subject, (run, blocks)) in &programs {
                    for (budget, slice) in blocks.get(number)?.iter().enumerate() {
                        block[subject * setup.budgets + budget] = vec![(*run, &run.slices[*slice])];
                    }
                }
                Some(block)
            };
            Some((
                first.host(),
                of_first.keys().filter_map(block).collect::<Vec<_>>(),
            ))
        };
        let launches = (1..=setup.repeat).filter_map(of_launch);
        CellBlocks {
            launches: runs.iter().collect(),
            runs: by_launch_or_host(launches.filter(|(_, blocks)| !blocks.is_empty()).collect()),
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

    pub(super) fn runs(&self) -> usize {
        self.runs.len()
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
