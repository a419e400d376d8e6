//! The sums over slices from which the figures of a cell are computed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::Range;

use run_format::counts::Counts;
use run_format::{BASELINE, HistogramOf, Site};

use super::by_variant::{ByVariant, Side};
use super::catalogue::SliceView;
use super::metric::MetricKey;
use crate::load::{CompleteBlock, LoadedRun, LoadedSlice};
use crate::stats::{self, CellEstimate, Change, GroupCounts, RatioPart};

const NS_PER_MS: f64 = 1e6;

/// The complete blocks of a cell, grouped by launch, or by host if several hosts measured it.
pub(super) struct CellBlocks<'a> {
    /// The number of launches of each subject.
    pub(super) launch_count: usize,
    /// Launches of one host have more in common than others, so a group can have several launches.
    groups: Vec<BlockGroup<'a>>,
}

type BlockGroup<'a> = Vec<Block<'a>>;

/// The slice of each variant, with its launch. None for a subject that always failed.
type Block<'a> = Vec<Option<(&'a LoadedRun, &'a LoadedSlice)>>;

#[derive(Clone, Debug)]
pub(crate) struct SweepSetup {
    /// The number of variants that take turns inside a subject.
    pub(crate) variants_per_subject: usize,
    /// The number of subjects that take turns, at least 1.
    pub(crate) subjects: usize,
    /// The labels of the subjects. Empty if there is one subject, which has no label.
    pub(crate) labels: Vec<String>,
    pub(crate) repeat: u32,
    pub(crate) threshold_ns: u64,
    pub(crate) site: Site,
    /// The A/A control, if there is one.
    pub(crate) control: Option<usize>,
}

impl SweepSetup {
    /// The variants of all subjects.
    pub(super) fn variants(&self) -> Range<usize> {
        0..self.variants_per_subject * self.subjects
    }

    /// The baseline, and its A/A control if there is one. Candidates are compared with both together, because they are copies,
    /// and two copies show more precisely what the baseline does.
    pub(super) fn reference(&self) -> Vec<usize> {
        iter::once(BASELINE).chain(self.control).collect()
    }

    /// Makes a value of each variant by itself, and one of the variants of the reference together.
    fn by_variant<T>(&self, value: impl Fn(&[usize]) -> T) -> ByVariant<T> {
        ByVariant {
            variants: self.variants().map(|variant| value(&[variant])).collect(),
            reference: value(&self.reference()),
        }
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
    /// Collects the blocks of each launch that every subject has. A subject that failed in all launches does not count, so
    /// that the others keep their blocks.
    pub(super) fn collect(runs: &'a [LoadedRun], setup: &SweepSetup) -> CellBlocks<'a> {
        let present: BTreeSet<usize> = runs.iter().map(|run| run.subject).collect();
        let numbered = |run: &'a LoadedRun| -> BTreeMap<u32, &'a CompleteBlock> {
            let blocks = run.blocks.iter();
            blocks.map(|block| (block.number, block)).collect()
        };
        let blocks_of_launch = |number: u32| {
            let launch = runs.iter().filter(|run| run.number == number);
            let subjects: BTreeMap<usize, _> = launch
                .map(|run| (run.subject, (run, numbered(run))))
                .collect();
            // Without the first subject there is nothing to compare with.
            let (first, first_blocks) = subjects.get(&0)?;
            if subjects.len() < present.len() {
                return None;
            }
            let block = |number: &u32| {
                let mut block: Block<'a> = vec![None; setup.variants().len()];
                for (subject, (run, blocks)) in &subjects {
                    for (variant, slice) in blocks.get(number)?.slices.iter().enumerate() {
                        block[subject * setup.variants_per_subject + variant] =
                            Some((run, &run.slices[*slice]));
                    }
                }
                Some(block)
            };
            let blocks: Vec<_> = first_blocks.keys().filter_map(block).collect();
            (!blocks.is_empty()).then(|| (first.host(), blocks))
        };
        let launches: Vec<_> = (1..=setup.repeat).filter_map(blocks_of_launch).collect();
        let hosts: BTreeSet<_> = launches.iter().map(|(host, _)| host).collect();
        CellBlocks {
            launch_count: launches.len(),
            groups: match hosts.len() {
                0 | 1 => launches.into_iter().map(|(_, blocks)| blocks).collect(),
                _ => by_host(launches.into_iter()),
            },
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks() == 0
    }

    pub(super) fn blocks(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    /// The percentage of time in which central waited for its core while the baseline's process measured, by group and block.
    pub(super) fn waited(&self) -> Vec<Vec<Option<f64>>> {
        let waited = |block: &Block| {
            let (run, slice) = block[BASELINE]?;
            let mut rows = run.block_rows.iter();
            let row = rows.find(|row| row.block == slice.row.block)?;
            let waited_ms =
                row.central_core_steal_ms? + row.central_runqueue_ns? as f64 / NS_PER_MS;
            stats::percent(waited_ms, row.duration_ms)
        };
        let waited_in_group = |blocks: &BlockGroup| blocks.iter().map(waited).collect();
        self.groups.iter().map(waited_in_group).collect()
    }

    /// The sum of some variants' parts in every block, by group. None if the part of any slice is unknown.
    pub(super) fn sums_by_block<T>(
        &self,
        variants: &[usize],
        part: impl Fn(&'a LoadedRun, &'a LoadedSlice) -> Option<T>,
        sum: impl Fn(Vec<T>) -> T,
    ) -> Option<Vec<Vec<T>>> {
        let sum_block = |block: &Block<'a>| {
            let part_of_variant = |variant: &usize| {
                let (run, slice) = block[*variant]?;
                part(run, slice)
            };
            let mut parts = variants
                .iter()
                .map(part_of_variant)
                .collect::<Option<Vec<T>>>()?;
            match parts.len() {
                1 => parts.pop(),
                _ => Some(sum(parts)),
            }
        };
        let sum_group = |blocks: &BlockGroup<'a>| blocks.iter().map(sum_block).collect();
        self.groups.iter().map(sum_group).collect()
    }
}

/// The estimates of every metric. None if there is no data for it.
pub(crate) type Estimates = BTreeMap<MetricKey, ByVariant<Option<CellEstimate>>>;

/// The counts of a histogram by group of blocks. None if any slice did not measure them.
type HistogramSums<'a> = Option<Vec<GroupCounts<'a>>>;

/// The summands of a ratio by group and block. None if any slice did not measure them.
type RatioSums = Option<Vec<Vec<RatioPart>>>;

/// The sums of a cell. Empty without a complete block.
#[derive(Default)]
pub(super) struct CellSums<'a> {
    pub(super) histograms: BTreeMap<HistogramOf, ByVariant<HistogramSums<'a>>>,
    pub(super) ratios: BTreeMap<MetricKey, ByVariant<RatioSums>>,
}

impl<'a> CellSums<'a> {
    pub(super) fn add_up(blocks: &CellBlocks<'a>, setup: &SweepSetup) -> CellSums<'a> {
        if blocks.is_empty() {
            return CellSums::default();
        }
        let by_group = |histogram: HistogramOf, variants: &[usize]| {
            let counts = |_: &_, slice: &'a LoadedSlice| slice.counts(histogram).map(Cow::Borrowed);
            let sum = |counts: Vec<Cow<'_, Counts>>| {
                let counts: Vec<&Counts> = counts.iter().map(Cow::as_ref).collect();
                Cow::Owned(Counts::sum(&counts))
            };
            let groups = blocks.sums_by_block(variants, counts, sum)?.into_iter();
            Some(groups.map(GroupCounts::new).collect())
        };
        let keys = || MetricKey::all(&Site::ALL).into_iter();
        let needed: BTreeSet<_> = keys().filter_map(|key| Some(key.quantile()?.0)).collect();
        let histograms = needed.into_iter().map(|histogram| {
            let sums = setup.by_variant(|variants| by_group(histogram, variants));
            (histogram, sums)
        });
        let ratio_keys = keys().filter(|key| key.metric.ratio_kind().is_some());
        let ratios =
            ratio_keys.map(|key| (key, ratio_parts(key, blocks, setup, setup.threshold_ns)));
        CellSums {
            histograms: histograms.collect(),
            ratios: ratios.collect(),
        }
    }

    pub(super) fn estimates(&self) -> Estimates {
        let ratios = self.ratios.iter().filter_map(|(key, sums)| {
            let kind = key.metric.ratio_kind()?;
            let ratio = |groups: &RatioSums| stats::ratio(groups.as_ref()?, kind);
            Some((*key, sums.map(ratio)))
        });
        let keys = MetricKey::all(&Site::ALL).into_iter();
        let quantiles = keys.filter_map(|key| {
            let (histogram, share) = key.quantile()?;
            let info = key.metric.info();
            // Formulas calculate in another unit than figures are shown in.
            let least = info.least / info.scale;
            let quantile = |groups: &HistogramSums| {
                Some(stats::quantile(groups.as_ref()?, share)?.with_least(least))
            };
            Some((key, self.histograms.get(&histogram)?.map(quantile)))
        });
        ratios.chain(quantiles).collect()
    }
}

/// The summands of a ratio, if polls beyond this threshold count as slow.
pub(super) fn ratio_parts(
    key: MetricKey,
    blocks: &CellBlocks,
    setup: &SweepSetup,
    threshold_ns: u64,
) -> ByVariant<RatioSums> {
    let parts = |run: &_, slice: &_| {
        key.parts(&SliceView {
            run,
            slice,
            threshold_ns,
        })
    };
    setup.by_variant(|variants| blocks.sums_by_block(variants, parts, RatioPart::sum))
}

/// The estimate of each variant with its change. The A/A control is compared with the baseline, and candidates with both
/// together. The estimate of both together is also shown for the baseline, because changes start there.
pub(crate) fn with_changes(
    estimates: &ByVariant<Option<CellEstimate>>,
    control: Option<usize>,
) -> Vec<Option<(&CellEstimate, Option<Change>)>> {
    let with_change = |variant: usize| {
        let (shown, from) = match variant {
            BASELINE => (Side::Reference, None),
            _ if Some(variant) == control => {
                (Side::Variant(variant), Some(Side::Variant(BASELINE)))
            }
            _ => (Side::Variant(variant), Some(Side::Reference)),
        };
        let estimate = estimates.value_of(shown)?;
        let from = from.and_then(|side| estimates.value_of(side));
        let change = from.and_then(|from| stats::paired_change(from, estimate));
        Some((estimate, change))
    };
    (0..estimates.variants.len()).map(with_change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_of_a_host_are_one_group() {
        let launches = [("b", vec![1]), ("a", vec![2, 3]), ("b", vec![4])];
        let launches = launches
            .into_iter()
            .map(|(host, blocks)| (Some(host.to_owned()), blocks));
        assert_eq!(by_host(launches), [vec![2, 3], vec![1, 4]]);
    }
}
