//! Which child holds the time of a site's polls.

use polars::prelude::DataFrame;

use crate::{
    measure::breakdown::under_each_other,
    site::Site,
    summary::{CellSummary, Summary},
};

/// A child's part of the time of all polls of a site, or of the slow ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Holder {
    pub(crate) slow: bool,
    pub(crate) child: String,
    pub(crate) percent: f64,
}

/// Over all cells, the largest first.
pub(crate) fn of(summary: &Summary, site: Site) -> Vec<Holder> {
    among(summary.measured(), site)
}

/// Over some cells. Slow polls are among all polls, too.
pub(crate) fn among<'a>(cells: impl Iterator<Item = &'a CellSummary>, site: Site) -> Vec<Holder> {
    let frames: Vec<DataFrame> = cells
        .filter_map(|cell| Some(cell.breakdown.as_ref()?.children.clone()))
        .collect();
    // Tables that were made alike can be added up.
    let times = under_each_other(&frames, &["site", "slow", "child"], "ns")
        .and_then(|frame| times(&frame, site))
        .unwrap_or_default();
    let mut holders = Vec::new();
    for slow in [false, true] {
        let mut by_child = std::collections::BTreeMap::new();
        for (was_slow, child, ns) in &times {
            if *was_slow || !slow {
                *by_child.entry(child.clone()).or_insert(0.0) += ns;
            }
        }
        let total: f64 = by_child.values().sum();
        let mut of_kind: Vec<Holder> = by_child
            .into_iter()
            .filter(|_| total > 0.0)
            .map(|(child, ns)| Holder {
                slow,
                child,
                percent: 100.0 * ns / total,
            })
            .collect();
        of_kind.sort_by(|a, b| b.percent.total_cmp(&a.percent));
        holders.extend(of_kind);
    }
    holders
}

fn times(frame: &DataFrame, site: Site) -> anyhow::Result<Vec<(bool, String, f64)>> {
    if frame.height() == 0 {
        return Ok(Vec::new());
    }
    let sites = frame.column("site")?.str()?;
    let slow = frame.column("slow")?.bool()?;
    let child = frame.column("child")?.str()?;
    let ns = frame.column("ns")?.i64()?;
    let rows = sites
        .iter()
        .zip(slow.iter())
        .zip(child.iter().zip(ns.iter()));
    Ok(rows
        .filter(|((of, _), _)| *of == Some(site.name()))
        .filter_map(|((_, slow), (child, ns))| Some((slow?, child?.to_owned(), ns? as f64)))
        .collect())
}

/// Polls of the baseline with so many iterations.
pub(crate) struct Iterations {
    pub(crate) slow: bool,
    pub(crate) iterations: i64,
    pub(crate) polls: f64,
}

/// Of one site of a cell.
pub(crate) fn iterations(cell: &CellSummary, site: Site) -> Vec<Iterations> {
    let frame = cell.breakdown.as_ref().map(|it| &it.iterations);
    frame
        .and_then(|frame| rows(frame, site).ok())
        .unwrap_or_default()
}

fn rows(frame: &DataFrame, site: Site) -> anyhow::Result<Vec<Iterations>> {
    if frame.height() == 0 {
        return Ok(Vec::new());
    }
    let variant = frame.column("variant")?.i64()?;
    let sites = frame.column("site")?.str()?;
    let slow = frame.column("slow")?.bool()?;
    let iterations = frame.column("iterations")?.i64()?;
    let polls = frame.column("polls")?.i64()?;
    let keys = variant.iter().zip(sites.iter()).zip(slow.iter());
    let rows = keys.zip(iterations.iter().zip(polls.iter()));
    Ok(rows
        .filter(|(((variant, of), _), _)| *variant == Some(0) && *of == Some(site.name()))
        .filter_map(|((_, slow), (iterations, polls))| {
            Some(Iterations {
                slow: slow?,
                iterations: iterations?,
                polls: polls? as f64,
            })
        })
        .collect())
}
