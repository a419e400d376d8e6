//! What the figures of a cell are computed from.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use run_format::counts::Counts;
use run_format::{BASELINE, HistogramOf, Site};

use super::catalogue::SliceView;
use super::metric::MetricKey;
use crate::load::{LoadedRun, LoadedSlice};
use crate::stats::{self, CellEstimate, Change, LaunchCounts, RatioPart};

/// The complete blocks of a cell: a slice of each budget, of each program if several take turns.
pub(super) struct CellBlocks<'a> {
    pub(super) launches: Vec<&'a LoadedRun>,
    /// How often the programs were launched.
    pub(super) count: usize,
    /// By launch, or by host if several measured the cell: the launches of a host have more in common than others.
    runs: Vec<Vec<Block<'a>>>,
}

/// By variant the slice, with its launch. None of a program that always failed.
type Block<'a> = Vec<Option<(&'a LoadedRun, &'a LoadedSlice)>>;

#[derive(Clone, Debug)]
pub(crate) struct SweepSetup {
    /// Budgets that take turns inside a program.
    pub(crate) budgets: usize,
    /// Programs that take turns; 1 where there is one.
    pub(crate) subjects: usize,
    /// Their labels. Empty where there is one program, which has none.
    pub(crate) labels: Vec<String>,
    pub(crate) repeat: u32,
    pub(crate) threshold_ns: u64,
    pub(crate) site: Site,
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
    /// Of each launch the blocks that every program has. A program without any launch, because all of them failed, does
    /// not cost the others theirs.
    pub(super) fn of_runs(runs: &'a [LoadedRun], setup: &SweepSetup) -> CellBlocks<'a> {
        let present: BTreeSet<usize> = runs.iter().map(|run| run.subject).collect();
        let numbered = |run: &'a LoadedRun| -> BTreeMap<u32, &'a Vec<usize>> {
            let blocks = run.blocks.iter();
            let numbered = blocks.map(|block| (run.slices[block[0]].row.block, block));
            numbered.collect()
        };
        let of_launch = |number: u32| {
            let launch = runs.iter().filter(|run| run.number == number);
            let programs = launch.map(|run| (run.subject, (run, numbered(run))));
            let programs: BTreeMap<usize, _> = programs.collect();
            // Without the first program there is nothing to compare with.
            let (first, of_first) = programs.get(&0)?;
            if programs.len() < present.len() {
                return None;
            }
            let block = |number: &u32| {
                let mut block: Block<'a> = vec![None; setup.budgets * setup.subjects];
                for (subject, (run, blocks)) in &programs {
                    for (budget, slice) in blocks.get(number)?.iter().enumerate() {
                        block[subject * setup.budgets + budget] = Some((run, &run.slices[*slice]));
                    }
                }
                Some(block)
            };
            let blocks: Vec<_> = of_first.keys().filter_map(block).collect();
            (!blocks.is_empty()).then(|| (first.host(), blocks))
        };
        let launches: Vec<_> = (1..=setup.repeat).filter_map(of_launch).collect();
        let hosts: BTreeSet<_> = launches.iter().map(|(host, _)| host).collect();
        CellBlocks {
            launches: runs.iter().collect(),
            count: launches.len(),
            runs: match hosts.len() {
                0 | 1 => launches.into_iter().map(|(_, blocks)| blocks).collect(),
                _ => by_host(launches.into_iter()),
            },
        }
    }

    /// By launch, which layout of its program the first one ran.
    pub(super) fn layouts(&self) -> Vec<Option<u32>> {
        let of_launch = |blocks: &Vec<Block<'a>>| {
            let (run, _) = blocks.first()?.first().copied().flatten()?;
            run.row.as_ref()?.config.layout
        };
        self.runs.iter().map(of_launch).collect()
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
        let of_block = |block: &Block<'a>| {
            let of_variant = |variant: &usize| {
                let (run, slice) = block[*variant]?;
                part(run, slice)
            };
            let parts = variants.iter().map(of_variant);
            let mut parts = parts.collect::<Option<Vec<T>>>()?;
            match parts.len() {
                1 => parts.pop(),
                _ => Some(sum(parts)),
            }
        };
        let of_run = |blocks: &Vec<Block<'a>>| blocks.iter().map(of_block).collect();
        self.runs.iter().map(of_run).collect()
    }
}

/// What figures are made of, by variant, and last what candidates are compared with. None if there is no data for it.
pub(crate) type Estimates = BTreeMap<MetricKey, Vec<Option<CellEstimate>>>;

/// By variant, and last of what candidates are compared with. None if any slice did not count them.
type ByVariant<T> = Vec<Option<Vec<T>>>;

/// Empty without a complete block.
#[derive(Default)]
pub(super) struct CellSums<'a> {
    /// The values that every variant counted, by launch.
    pub(super) launches: BTreeMap<HistogramOf, ByVariant<LaunchCounts<'a>>>,
    /// What ratios are made of, by run and block.
    pub(super) ratios: BTreeMap<MetricKey, ByVariant<Vec<RatioPart>>>,
}

impl<'a> CellSums<'a> {
    pub(super) fn of(blocks: &CellBlocks<'a>, setup: &SweepSetup) -> CellSums<'a> {
        if blocks.is_empty() {
            return CellSums::default();
        }
        let counts = |what: HistogramOf, variants: Vec<usize>| {
            let counts = |_: &_, slice: &'a LoadedSlice| slice.counts(what).map(Cow::Borrowed);
            let sum = |launch: Vec<Cow<'_, Counts>>| {
                let launch: Vec<&Counts> = launch.iter().map(Cow::as_ref).collect();
                Cow::Owned(Counts::sum(&launch))
            };
            let launches = blocks.of(&variants, counts, sum)?.into_iter();
            Some(launches.map(LaunchCounts::of).collect())
        };
        let keys = || MetricKey::all(&Site::ALL).into_iter();
        let estimated: BTreeSet<_> = keys().filter_map(|key| Some(key.quantile()?.0)).collect();
        let launches = estimated.into_iter().map(|what| {
            let variants = setup.estimated();
            (what, variants.map(|it| counts(what, it)).collect())
        });
        let keys = keys().filter(|key| key.metric.ratio_kind().is_some());
        let ratios = keys.map(|key| (key, ratio_parts(key, blocks, setup, setup.threshold_ns)));
        CellSums {
            launches: launches.collect(),
            ratios: ratios.collect(),
        }
    }

    pub(super) fn estimates(&self) -> Estimates {
        let ratios = self.ratios.iter().filter_map(|(key, variants)| {
            let kind = key.metric.ratio_kind()?;
            let ratio = |runs: &Option<Vec<_>>| stats::ratio(runs.as_ref()?, kind);
            Some((*key, variants.iter().map(ratio).collect()))
        });
        let keys = MetricKey::all(&Site::ALL).into_iter();
        let quantiles = keys.filter_map(|key| {
            let (of, at) = key.quantile()?;
            let info = key.metric.info();
            // In the unit that formulas calculate in.
            let least = info.least / info.scale;
            let quantile = |launches: &Option<Vec<_>>| {
                Some(stats::quantile(launches.as_ref()?, at)?.with_least(least))
            };
            let variants = self.launches.get(&of)?.iter();
            Some((key, variants.map(quantile).collect()))
        });
        ratios.chain(quantiles).collect()
    }
}

/// The summands of a ratio, by variant, and last of what candidates are compared with.
pub(super) fn ratio_parts(
    key: MetricKey,
    blocks: &CellBlocks,
    setup: &SweepSetup,
    threshold_ns: u64,
) -> ByVariant<Vec<RatioPart>> {
    let parts = |run: &_, slice: &_| {
        key.parts(&SliceView {
            run,
            slice,
            threshold_ns,
        })
    };
    let variants = setup.estimated();
    let parts = variants.map(|it| blocks.of(&it, parts, RatioPart::sum));
    parts.collect()
}

/// The estimate of each variant with its change: of the A/A control from the baseline, and of candidates from both
/// together, which come last. Their level is also that of the baseline, since changes start there.
pub(crate) fn with_changes(
    estimates: &[Option<CellEstimate>],
    control: Option<usize>,
) -> Vec<Option<(&CellEstimate, Option<Change>)>> {
    let Some((reference, variants)) = estimates.split_last() else {
        return Vec::new();
    };
    let with_change = |variant: usize| {
        let (estimate, from) = match variant {
            BASELINE => (reference, None),
            _ if Some(variant) == control => (&variants[variant], variants[BASELINE].as_ref()),
            _ => (&variants[variant], reference.as_ref()),
        };
        let estimate = estimate.as_ref()?;
        let change = from.and_then(|from| stats::change(from, estimate));
        Some((estimate, change))
    };
    (0..variants.len()).map(with_change).collect()
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
