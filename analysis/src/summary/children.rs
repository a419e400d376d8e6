//! The shares of children in the time of a site's polls.

use std::collections::BTreeMap;

use run_format::Site;

use super::{CellSummary, Summary};
use crate::stats;

#[derive(Clone, Copy)]
pub(crate) struct ChildShare<'a> {
    pub(crate) child: &'a str,
    pub(crate) percent: f64,
}

/// The shares of children in the time of some polls, the largest first.
pub(crate) struct PollTimeShares<'a> {
    pub(crate) all_polls: Vec<ChildShare<'a>>,
    pub(crate) slow_polls: Vec<ChildShare<'a>>,
}

impl<'a> PollTimeShares<'a> {
    /// Adds up the polls of a site in some cells.
    pub(crate) fn add_up(cells: impl Iterator<Item = &'a CellSummary>, site: Site) -> Self {
        let (mut all, mut slow) = (BTreeMap::new(), BTreeMap::new());
        for cell in cells {
            let breakdown = &cell.data.breakdown;
            for (times, sums) in [
                (&breakdown.all_polls, &mut all),
                (&breakdown.slow_polls, &mut slow),
            ] {
                for ((_, child), ns) in times.iter().filter(|((parent, _), _)| *parent == site) {
                    *sums.entry(&**child).or_default() += *ns as f64;
                }
            }
        }
        PollTimeShares {
            all_polls: shares(all),
            slow_polls: shares(slow),
        }
    }
}

/// The shares of children in the time by which their polls are longer than 50 µs.
pub(crate) fn beyond(summary: &Summary, site: Site) -> Vec<ChildShare<'_>> {
    let mut by_child = BTreeMap::new();
    for cell in summary.measured_cells() {
        let children = cell.data.breakdown.beyond.iter();
        for ((_, child), ns) in children.filter(|((parent, _), _)| *parent == site) {
            *by_child.entry(&**child).or_default() += *ns as f64;
        }
    }
    shares(by_child)
}

/// The share of each child in the sum. Empty if the sum is zero.
fn shares(by_child: BTreeMap<&str, f64>) -> Vec<ChildShare<'_>> {
    let total: f64 = by_child.values().sum();
    let share = |(child, ns)| {
        let percent = stats::percent(ns, total)?;
        Some(ChildShare { child, percent })
    };
    let mut shares: Vec<ChildShare> = by_child.into_iter().filter_map(share).collect();
    shares.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    shares
}
