//! Where the time of a cell goes: by child, by iterations, and by percentile.

use anyhow::Result;
use polars::prelude::*;

use crate::{
    load::run::Run,
    site::Site,
    stats::{Counts, Histogram},
};

/// The lower ends of the bands of `bands.csv` and `children.csv`.
const BANDS_FROM_NS: [u64; 10] = [
    0, 10_000, 25_000, 50_000, 75_000, 100_000, 150_000, 200_000, 500_000, 1_000_000,
];

/// What stands for a site's own code among its children.
pub(crate) const OWN: &str = "own code";

/// The band from which on polls count as slow in the tables that know bands only: the first that is
/// not below the threshold.
pub(crate) fn slow_from_ns(threshold_ns: u64) -> Option<u64> {
    BANDS_FROM_NS
        .into_iter()
        .find(|from_ns| *from_ns >= threshold_ns)
}

/// Tables of one cell, to be put under those of others.
pub(crate) struct Breakdown {
    /// `site`, `slow`, `child`, `ns`: the time of polls by child, baseline only.
    pub(crate) children: DataFrame,
    /// `variant`, `site`, `slow`, `iterations`, `polls`.
    pub(crate) iterations: DataFrame,
}

impl Breakdown {
    pub(crate) fn of(runs: &[&Run], threshold_ns: u64) -> Result<Breakdown> {
        // Above all bands nothing is known to be slow.
        let from_ns = slow_from_ns(threshold_ns).unwrap_or(u64::MAX);
        let mut children = Vec::new();
        let mut iterations = Vec::new();
        for run in runs {
            children.push(child_time(run, from_ns)?);
            iterations.push(summed(
                &with_slow(filtered(&run.bands, false)?, from_ns)?,
                &["variant", "site", "slow", "iterations"],
                "polls",
            )?);
        }
        Ok(Breakdown {
            children: under_each_other(&children, &["site", "slow", "child"], "ns")?,
            iterations: under_each_other(
                &iterations,
                &["variant", "site", "slow", "iterations"],
                "polls",
            )?,
        })
    }
}

/// Adds up tables of the same columns.
pub(crate) fn under_each_other(
    frames: &[DataFrame],
    by: &[&str],
    value: &str,
) -> Result<DataFrame> {
    let mut frames = frames.iter().filter(|frame| frame.width() > 0);
    let Some(first) = frames.next() else {
        return Ok(DataFrame::empty());
    };
    let mut all = first.clone();
    for frame in frames {
        all.vstack_mut(frame)?;
    }
    summed(&all, by, value)
}

#[expect(
    deprecated,
    reason = "what replaces it is the lazy engine, which takes long to build, and this is the only query"
)]
/// The sum of `value` for every combination of `by`, in the order of those.
fn summed(frame: &DataFrame, by: &[&str], value: &str) -> Result<DataFrame> {
    let mut sums = frame.group_by(by.iter().copied())?.select([value]).sum()?;
    sums.rename(&format!("{value}_sum"), value.into())?;
    Ok(sums.sort(by.iter().copied(), SortMultipleOptions::default())?)
}

/// What children took, and what is left of the polls around them: the site's own code.
fn child_time(run: &Run, from_ns: u64) -> Result<DataFrame> {
    let by = ["site", "slow", "child"];
    if run.children.height() == 0 {
        // Without children all time would look like the site's own.
        return Ok(DataFrame::empty());
    }
    let children = summed(&with_slow(run.children.clone(), from_ns)?, &by, "ns")?;
    let around = with_slow(filtered(&run.bands, true)?, from_ns)?;
    let around = own(&summed(&around, &by[..2], "ns")?, 1)?;
    let inside = own(&children, -1)?;
    under_each_other(&[children, around, inside], &by, "ns")
}

/// The time of a table's rows, as the own code's or taken from it.
fn own(frame: &DataFrame, sign: i64) -> Result<DataFrame> {
    let ns = frame.column("ns")?.i64()?;
    let ns: Vec<Option<i64>> = ns.iter().map(|ns| ns.map(|ns| sign * ns)).collect();
    Ok(DataFrame::new_infer_height(vec![
        frame.column("site")?.clone(),
        frame.column("slow")?.clone(),
        Column::new("child".into(), vec![OWN; ns.len()]),
        Column::new("ns".into(), ns),
    ])?)
}

/// The rows of slices in which children were recorded, or of the others.
fn filtered(bands: &DataFrame, children: bool) -> Result<DataFrame> {
    let is_children = bands.column("children")?.bool()?;
    let mask: BooleanChunked = is_children.iter().map(|it| it == Some(children)).collect();
    Ok(bands.filter(&mask)?)
}

fn with_slow(mut frame: DataFrame, from_ns: u64) -> Result<DataFrame> {
    let from_ns = i64::try_from(from_ns).unwrap_or(i64::MAX);
    let slow = frame.column("from_ns")?.i64()?.gt_eq(from_ns);
    frame.with_column(slow.with_name("slow".into()).into_column())?;
    Ok(frame)
}

/// Percentiles of the duration of polls.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) variant: usize,
    pub(crate) site: Site,
    /// Share of polls not above, and duration in µs.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Curve {
    /// From 0 to where two polls are left.
    pub(crate) fn of(variant: usize, site: Site, durations: &[Counts]) -> Option<Curve> {
        const POINTS_PER_HALVING: f64 = 4.0;
        let histogram = Histogram::merged(durations)?;
        let halvings = (histogram.total() / 2.0).log2().max(0.0);
        let steps = (halvings * POINTS_PER_HALVING).floor() as u32;
        let points = (0..=steps).map(|step| {
            let share = 1.0 - 0.5f64.powf(f64::from(step) / POINTS_PER_HALVING);
            (share, histogram.quantile(share) / 1000.0)
        });
        Some(Curve {
            variant,
            site,
            points: points.collect(),
        })
    }
}
