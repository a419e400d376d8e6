//! The children that take the time of a site's polls.

use std::collections::BTreeMap;

use run_format::Site;

use crate::summary::{CellSummary, Summary};

/// A child's share of the time of all polls of a site, or of its slow polls.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Holder {
    pub(crate) slow: bool,
    pub(crate) child: String,
    pub(crate) percent: f64,
}

/// The shares of children in the time by which polls of children are longer than 50 µs, in percent, the largest first. Older
/// runs do not have it.
pub(crate) fn beyond(summary: &Summary, site: Site) -> Vec<(&str, f64)> {
    let mut by_child: BTreeMap<&str, f64> = BTreeMap::new();
    let cells = summary
        .measured()
        .flat_map(|cell| &cell.measured.breakdown.beyond);
    for ((_, child), ns) in cells.filter(|((of, _), _)| *of == site) {
        *by_child.entry(child).or_default() += *ns as f64;
    }
    let mut shares: Vec<_> = in_percent(by_child).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

/// Over all cells, the largest first.
pub(crate) fn of(summary: &Summary, site: Site) -> Vec<Holder> {
    among(summary.measured(), site)
}

/// Over some cells. All polls include slow polls.
pub(crate) fn among<'a>(cells: impl Iterator<Item = &'a CellSummary>, site: Site) -> Vec<Holder> {
    let mut times: BTreeMap<(bool, &str), i64> = BTreeMap::new();
    for cell in cells {
        let children = cell.measured.breakdown.times.iter();
        let of_site = children.filter(|((of, ..), _)| *of == site);
        for ((_, slow, child), ns) in of_site {
            *times.entry((*slow, child)).or_default() += ns;
        }
    }
    let mut holders = Vec::new();
    for slow in [false, true] {
        let mut by_child = BTreeMap::new();
        for ((was_slow, child), ns) in &times {
            if *was_slow || !slow {
                *by_child.entry(*child).or_insert(0.0) += *ns as f64;
            }
        }
        holders.extend(in_percent(by_child).map(|(child, percent)| Holder {
            slow,
            child: child.to_owned(),
            percent,
        }));
    }
    holders.sort_by(|a, b| a.slow.cmp(&b.slow).then(b.percent.total_cmp(&a.percent)));
    holders
}

/// Of the sum. Nothing if that is zero.
fn in_percent(by_child: BTreeMap<&str, f64>) -> impl Iterator<Item = (&str, f64)> {
    let total: f64 = by_child.values().sum();
    let by_child = by_child.into_iter().filter(move |_| total > 0.0);
    by_child.map(move |(child, ns)| (child, 100.0 * ns / total))
}
