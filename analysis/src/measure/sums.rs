//! What the figures of a cell are computed from.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use run_format::{BASELINE, HistogramOf, Site};

use super::catalogue::{Limits, SliceView};
use super::cell_blocks::{CellBlocks, SweepSetup};
use super::metric::MetricKey;
use crate::load::LoadedSlice;
use crate::stats::{self, CellEstimate, Change, Counts, LaunchCounts, RatioPart};

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
            let sum = |launch: Vec<Cow<'_, Counts>>| Cow::Owned(Counts::sum(&launch));
            let launches = blocks.of(&variants, counts, sum)?.into_iter();
            Some(launches.map(LaunchCounts::of).collect())
        };
        let keys = || MetricKey::all(&Site::ALL).into_iter();
        let estimated: BTreeSet<_> = keys().filter_map(|key| Some(key.quantile()?.0)).collect();
        let launches = estimated.into_iter().map(|what| {
            let variants = setup.estimated();
            (what, variants.map(|it| counts(what, it)).collect())
        });
        let launches: BTreeMap<_, ByVariant<LaunchCounts>> = launches.collect();
        let limits = Limits {
            threshold_ns: setup.threshold_ns,
            longest_ns: longest_ns(&launches),
        };
        let keys = keys().filter(|key| key.metric.ratio_kind().is_some());
        let ratios = keys.map(|key| (key, ratio_parts(key, blocks, setup, &limits)));
        CellSums {
            ratios: ratios.collect(),
            launches,
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
    limits: &Limits,
) -> ByVariant<Vec<RatioPart>> {
    let parts = |run: &_, slice: &_| key.parts(&SliceView { run, slice, limits });
    let variants = setup.estimated();
    let parts = variants.map(|it| blocks.of(&it, parts, RatioPart::sum));
    parts.collect()
}

/// What one in a thousand polls of a site exceeds, over all variants, so that the limit cannot favour one.
fn longest_ns(launches: &BTreeMap<HistogramOf, ByVariant<LaunchCounts>>) -> BTreeMap<Site, u64> {
    const EXCEEDED_BY: f64 = 0.001;
    let of_site = |site: Site| {
        let by_variant = launches.get(&HistogramOf::Polls(site))?;
        let (_, variants) = by_variant.split_last()?;
        let launches = variants.iter().flatten().flatten();
        let polls: Vec<&Counts> = launches.map(|it| &it.sum).collect();
        Some((site, Counts::sum(&polls).exceeded_by(EXCEEDED_BY)))
    };
    Site::ALL.into_iter().filter_map(of_site).collect()
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
