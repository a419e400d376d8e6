//! The children that take the time of a site's polls.

use std::collections::BTreeMap;

use run_format::Site;

use crate::stats::Share;
use crate::summary::{CellSummary, Summary};

/// Children with their shares in percent, the largest first.
pub(crate) type Shares<'a> = Vec<(&'a str, f64)>;

/// The shares of children in the time by which their polls are longer than 50 µs.
pub(crate) fn beyond(summary: &Summary, site: Site) -> Shares<'_> {
    let mut by_child = BTreeMap::new();
    for cell in summary.measured() {
        let children = cell.measured.breakdown.beyond.iter();
        for ((_, child), ns) in children.filter(|((parent, _), _)| *parent == site) {
            *by_child.entry(&**child).or_default() += *ns as f64;
        }
    }
    in_percent(by_child)
}

/// The shares of children in the time of all polls of some cells, and their shares in the time of slow polls.
pub(crate) fn shares<'a>(
    cells: impl Iterator<Item = &'a CellSummary>,
    site: Site,
) -> [Shares<'a>; 2] {
    let (mut all, mut slow) = (BTreeMap::new(), BTreeMap::new());
    for cell in cells {
        let children = cell.measured.breakdown.times.iter();
        for ((_, is_slow, child), ns) in children.filter(|((parent, ..), _)| *parent == site) {
            *all.entry(&**child).or_default() += *ns as f64;
            if *is_slow {
                *slow.entry(&**child).or_default() += *ns as f64;
            }
        }
    }
    [all, slow].map(in_percent)
}

/// The share of each child in the sum. Empty if the sum is zero.
fn in_percent(by_child: BTreeMap<&str, f64>) -> Shares<'_> {
    let total: f64 = by_child.values().sum();
    let share = |(child, ns)| Some((child, Share::part(ns, total)?.percent()));
    let mut shares: Shares = by_child.into_iter().filter_map(share).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}
