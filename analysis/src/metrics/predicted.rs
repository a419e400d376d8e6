//! Adds up what bounds would have done to the polls of the baseline. The node has cut their iterations into the pieces that
//! `bounds.csv` counts.

use std::collections::{BTreeMap, BTreeSet};

use poll_probe::Limit;
use run_format::{BoundRow, SLOW_NS, Site};

use super::SweepSetup;
use crate::load::LoadedRun;
use crate::stats::{self, BareEstimate, RatioKind, RatioPart};

/// The polls of a site as a bound would have made them.
#[derive(Clone, Debug)]
pub(crate) struct Prediction {
    pub(crate) site: Site,
    /// The limit of the bound. None stands for the polls as they were.
    pub(crate) limit: Option<Limit>,
    pub(crate) slices: usize,
    pub(crate) polls: u64,
    pub(crate) slow_polls: u64,
    pub(crate) longest_ns: u64,
    pub(crate) beyond_ms_per_s: BareEstimate,
}

/// The predictions, sorted by site and by limit: first none, then counts, then times. Recordings know only one threshold, so
/// there is no prediction for another.
pub(super) fn predict(runs: &[&LoadedRun], setup: &SweepSetup) -> Vec<Prediction> {
    let mut found: BTreeMap<_, Vec<Recorded>> = BTreeMap::new();
    if setup.threshold_ns != SLOW_NS {
        return Vec::new();
    }
    for (run, loaded) in runs.iter().enumerate() {
        let used: BTreeSet<u32> = loaded.blocks.iter().map(|block| block.number).collect();
        let all = loaded.slices.iter();
        for slice in all.filter(|slice| used.contains(&slice.row.block)) {
            let whole = slice.sites().filter(|site| site.lost() == 0);
            for row in whole.flat_map(|site| &site.bounds) {
                let limit = row.budget.at(row.site).map(|bound| bound.limit);
                let seconds = slice.row.duration_ms / 1e3;
                let recorded = Recorded { run, seconds, row };
                let key = (row.site, limit.map(sort_key));
                found.entry(key).or_default().push(recorded);
            }
        }
    }
    found.values().filter_map(|all| prediction(all)).collect()
}

struct Recorded<'a> {
    run: usize,
    seconds: f64,
    row: &'a BoundRow,
}

fn prediction(all: &[Recorded]) -> Option<Prediction> {
    let rows = || all.iter().map(|recorded| recorded.row);
    let part =
        |recorded: &Recorded| RatioPart::new(recorded.row.beyond_ns as f64, recorded.seconds);
    let runs = all.chunk_by(|one, other| one.run == other.run);
    let parts: Vec<_> = runs.map(|run| run.iter().map(part).collect()).collect();
    let first = all.first()?.row;
    Some(Prediction {
        site: first.site,
        limit: first.budget.at(first.site).map(|bound| bound.limit),
        slices: all.len(),
        polls: rows().map(|row| row.pieces).sum(),
        slow_polls: rows().map(|row| row.slow_pieces).sum(),
        longest_ns: rows().map(|row| row.longest_ns).max()?,
        beyond_ms_per_s: stats::ratio(&parts, RatioKind::Amount)?.bare(),
    })
}

/// A key that sorts limits by kind, and limits of one kind by how much they allow.
fn sort_key(limit: Limit) -> (u8, u128) {
    match limit {
        Limit::Count(count) => (0, u128::from(count.get())),
        Limit::Time(time) => (1, time.as_nanos()),
        Limit::Coop => (2, 0),
    }
}
