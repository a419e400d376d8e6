//! What bounds would have done to the polls of the baseline: the recorded iterations of its polls, cut into pieces.

use std::collections::{BTreeMap, BTreeSet};

use poll_probe::Limit;
use run_format::{Site, config::SLOW_NS};

use super::SweepSetup;
use crate::{
    load::loaded_run::{LoadedRun, LoadedSlice},
    stats::{self, BareEstimate, RatioKind, RatioPart},
};

/// The polls of a site as a bound would have made them.
#[derive(Clone, Debug)]
pub(crate) struct Predicted {
    pub(crate) site: Site,
    /// None is no bound: the polls as they were.
    pub(crate) limit: Option<Limit>,
    pub(crate) slices: usize,
    pub(crate) polls: u64,
    pub(crate) slow_polls: u64,
    pub(crate) longest_ns: u64,
    pub(crate) slow: BareEstimate,
}

/// Sorted by site, and by limit: none first, then counts, then times. The recordings know one threshold only, so at
/// another one there is nothing.
pub(super) fn of(runs: &[&LoadedRun], setup: &SweepSetup) -> Vec<Predicted> {
    type Parts = Vec<Vec<RatioPart>>;
    let mut found: BTreeMap<_, (Site, Option<Limit>, u64, Parts)> = BTreeMap::new();
    if setup.threshold_ns != SLOW_NS {
        return Vec::new();
    }
    for (at, run) in runs.iter().enumerate() {
        let first = run.blocks.iter().filter_map(|block| block.first());
        let used: BTreeSet<u32> = first.map(|at| run.slices[*at].row.block).collect();
        let slices = run.slices.iter().filter(|it| used.contains(&it.row.block));
        let sites = slices.flat_map(LoadedSlice::sites);
        let whole = sites.filter(|site| site.lost() == 0);
        for row in whole.flat_map(|site| &site.bounds) {
            let limit = row.budget.at(row.site).map(|it| it.limit);
            let (.., longest_ns, parts) = found
                .entry((row.site, limit.map(room)))
                .or_insert_with(|| (row.site, limit, 0, vec![Vec::new(); runs.len()]));
            *longest_ns = row.longest_ns.max(*longest_ns);
            parts[at].push(RatioPart {
                num: row.slow_pieces as f64,
                den: row.pieces as f64,
            });
        }
    }
    let predicted = found.into_values();
    let predicted = predicted.filter_map(|(site, limit, longest_ns, mut parts)| {
        parts.retain(|run| !run.is_empty());
        let slices = parts.iter().map(Vec::len).sum();
        // As elsewhere, launches of a program are blocks.
        if setup.subjects > 1 {
            parts = vec![parts.into_iter().map(RatioPart::sum).collect()];
        }
        let sum = RatioPart::sum(parts.iter().flatten().copied());
        Some(Predicted {
            site,
            limit,
            slices,
            polls: sum.den as u64,
            slow_polls: sum.num as u64,
            longest_ns,
            slow: stats::ratio(&parts, RatioKind::Share)?.bare(),
        })
    });
    predicted.collect()
}

/// Sorts limits: among limits of one kind, a larger number is more room.
pub(crate) fn room(limit: Limit) -> (u8, u128) {
    match limit {
        Limit::Count(count) => (0, u128::from(count.get())),
        Limit::Time(time) => (1, time.as_nanos()),
        Limit::Coop => (2, 0),
    }
}
