//! The blocks of a cell. In a block all variants take turns: budgets in slices of one launch, or programs in
//! launches of their own.

use std::collections::BTreeMap;

use run_format::Site;

use crate::load::{
    blocks::Disturbed,
    loaded_run::{LoadedRun, LoadedSlice},
};

/// The complete blocks of a cell. With one program, a block is a slice of each budget. With several, it is a
/// launch of each, and the slices of a budget in a launch are summed.
pub(super) enum CellBlocks<'a> {
    Slices(&'a [LoadedRun]),
    Launches {
        /// By block, then by subject.
        blocks: Vec<Vec<&'a LoadedRun>>,
        budgets: usize,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct SweepSetup {
    /// Budgets that take turns inside a program.
    pub(crate) budgets: usize,
    /// Programs that take turns; 1 where there is one.
    pub(crate) subjects: usize,
    /// The most runs that a cell has.
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

/// Blocks of the same host, together.
fn by_host<T>(blocks: impl Iterator<Item = (Option<String>, Vec<T>)>) -> Vec<Vec<T>> {
    let mut by_host: BTreeMap<Option<String>, Vec<T>> = BTreeMap::new();
    for (host, blocks) in blocks {
        by_host.entry(host).or_default().extend(blocks);
    }
    by_host.into_values().collect()
}

impl<'a> CellBlocks<'a> {
    pub(super) fn of_runs(runs: &'a [LoadedRun], setup: &SweepSetup) -> CellBlocks<'a> {
        if setup.subjects == 1 {
            return CellBlocks::Slices(runs);
        }
        let block = |number: u32| {
            let launch = |subject: usize| {
                let mut launches = runs.iter();
                launches.find(|run| run.number == number && run.subject == subject)
            };
            (0..setup.subjects).map(launch).collect::<Option<Vec<_>>>()
        };
        CellBlocks::Launches {
            blocks: (1..=setup.repeat).filter_map(block).collect(),
            budgets: setup.budgets,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks() == 0
    }

    pub(super) fn runs(&self) -> usize {
        match self {
            CellBlocks::Slices(runs) => runs.len(),
            CellBlocks::Launches { blocks, .. } => blocks.len(),
        }
    }

    pub(super) fn blocks(&self) -> usize {
        match self {
            CellBlocks::Slices(runs) => runs.iter().map(|run| run.blocks.len()).sum(),
            CellBlocks::Launches { blocks, .. } => blocks.len(),
        }
    }

    pub(super) fn slices(&self) -> impl Iterator<Item = &'a LoadedSlice> {
        let runs: Vec<&'a LoadedRun> = match self {
            CellBlocks::Slices(runs) => runs.iter().collect(),
            CellBlocks::Launches { blocks, .. } => blocks.concat(),
        };
        runs.into_iter().flat_map(|run| &run.slices)
    }

    /// What some variants have in every block, summed up, by run, or by host if several measured the cell: the launches of
    /// a host have more in common than others. None if any slice has none.
    pub(super) fn of<T>(
        &self,
        variants: &[usize],
        part: impl Fn(&'a LoadedSlice) -> Option<T>,
        sum: impl Fn(Vec<T>) -> T,
    ) -> Option<Vec<Vec<T>>> {
        let by_run = self.by_run(variants, part, sum)?;
        Some(match self {
            CellBlocks::Slices(runs) => {
                let hosts: Vec<_> = runs.iter().map(LoadedRun::host).collect();
                let is_one = hosts.windows(2).all(|pair| pair[0] == pair[1]);
                if is_one {
                    by_run
                } else {
                    by_host(hosts.into_iter().zip(by_run))
                }
            }
            CellBlocks::Launches { blocks, .. } => {
                let hosts = blocks.iter().map(|block| block[0].host());
                let launches = by_run.into_iter().flatten().map(|launch| vec![launch]);
                by_host(hosts.zip(launches))
            }
        })
    }

    /// The same by run, whatever the host. Launches are blocks of a single run, since the launches of a block share
    /// nothing else.
    pub(super) fn by_run<T>(
        &self,
        variants: &[usize],
        part: impl Fn(&'a LoadedSlice) -> Option<T>,
        sum: impl Fn(Vec<T>) -> T,
    ) -> Option<Vec<Vec<T>>> {
        let each = variants.iter();
        let each = each.map(|variant| self.of_variant(*variant, &part, &sum));
        let add = |all: Vec<Vec<T>>, more: Vec<Vec<T>>| {
            let runs = all.into_iter().zip(more);
            let runs = runs.map(|(blocks, more)| blocks.into_iter().zip(more));
            runs.map(|blocks| blocks.map(|(one, other)| sum(vec![one, other])).collect())
                .collect()
        };
        each.collect::<Option<Vec<_>>>()?.into_iter().reduce(add)
    }

    fn of_variant<T>(
        &self,
        variant: usize,
        part: impl Fn(&'a LoadedSlice) -> Option<T>,
        sum: impl Fn(Vec<T>) -> T,
    ) -> Option<Vec<Vec<T>>> {
        let of_run = |run: &'a LoadedRun, budget: usize| -> Option<Vec<T>> {
            let blocks = run.blocks.iter();
            blocks
                .map(|block| part(&run.slices[block[budget]]))
                .collect()
        };
        match self {
            CellBlocks::Slices(runs) => runs.iter().map(|run| of_run(run, variant)).collect(),
            CellBlocks::Launches { blocks, budgets } => {
                let (subject, budget) = (variant / budgets, variant % budgets);
                let launches = blocks
                    .iter()
                    .map(|block| of_run(block[subject], budget).map(&sum));
                Some(vec![launches.collect::<Option<_>>()?])
            }
        }
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
