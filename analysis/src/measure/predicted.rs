//! What bounds would have done to the polls of the baseline: the recorded iterations of its polls, cut into pieces.

use std::collections::{BTreeMap, BTreeSet};

use poll_probe::Limit;
use run_format::Site;
use run_format::config::SLOW_NS;

use super::SweepSetup;
use crate::load::loaded_run::LoadedRun;
use crate::stats::{self, BareEstimate, RatioKind, RatioPart};

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
    /// The time beyond the threshold. None if older runs do not have it.
    pub(crate) beyond: Option<BareEstimate>,
}

/// What all slices have of a bound, by run.
struct Found {
    site: Site,
    limit: Option<Limit>,
    longest_ns: u64,
    slow: Parts,
    beyond: Option<Parts>,
}

type Parts = Vec<Vec<RatioPart>>;

/// Sorted by site, and by limit: none first, then counts, then times. The recordings know one threshold only, so at
/// another one there is nothing.
pub(super) fn of(runs: &[&LoadedRun], setup: &SweepSetup) -> Vec<Predicted> {
    let mut found: BTreeMap<_, Found> = BTreeMap::new();
    if setup.threshold_ns != SLOW_NS {
        return Vec::new();
    }
    for (at, run) in runs.iter().enumerate() {
        let first = run.blocks.iter().filter_map(|block| block.first());
        let used: BTreeSet<u32> = first.map(|at| run.slices[*at].row.block).collect();
        let slices = run.slices.iter().filter(|it| used.contains(&it.row.block));
        let rows = slices.flat_map(|slice| {
            let whole = slice.sites().filter(|site| site.lost() == 0);
            whole.flat_map(move |site| site.bounds.iter().map(move |row| (slice, row)))
        });
        for (slice, row) in rows {
            let limit = row.budget.at(row.site).map(|it| it.limit);
            let none = || vec![Vec::new(); runs.len()];
            let found = found
                .entry((row.site, limit.map(room)))
                .or_insert_with(|| Found {
                    site: row.site,
                    limit,
                    longest_ns: 0,
                    slow: none(),
                    beyond: Some(none()),
                });
            found.longest_ns = row.longest_ns.max(found.longest_ns);
            found.slow[at].push(RatioPart {
                num: row.slow_pieces as f64,
                den: row.pieces as f64,
            });
            match (&mut found.beyond, row.beyond_ns) {
                (Some(beyond), Some(ns)) => beyond[at].push(RatioPart {
                    num: ns as f64,
                    den: slice.row.duration_ms / 1e3,
                }),
                (beyond, _) => *beyond = None,
            }
        }
    }
    let predicted = found.into_values();
    let predicted = predicted.filter_map(|found| {
        let slices = found.slow.iter().map(Vec::len).sum();
        let used = |mut parts: Parts| {
            parts.retain(|run| !run.is_empty());
            parts
        };
        let (slow, beyond) = (used(found.slow), found.beyond.map(used));
        let sum = RatioPart::sum(slow.iter().flatten().copied());
        Some(Predicted {
            site: found.site,
            limit: found.limit,
            slices,
            polls: sum.den as u64,
            slow_polls: sum.num as u64,
            longest_ns: found.longest_ns,
            slow: stats::ratio(&slow, RatioKind::Share)?.bare(),
            beyond: beyond.and_then(|it| Some(stats::ratio(&it, RatioKind::Amount)?.bare())),
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
