//! Whether cells that were measured at the same time disturbed each other.

use std::collections::BTreeMap;

use plan::jobs::{AlonePair, BesideOthers, LIMIT_PERCENT};
use plan::sums::SliceSums;
use run_format::manifest::Manifest;
use run_format::network::Placement;
use run_format::variant::Role;

use super::markdown::{Document, Row, table};
use crate::measure::jobs::JobsOfCell;
use crate::prose::prose;
use crate::stats::{self, Interval};
use crate::summary::Summary;
use crate::text::{self, count};

pub(super) fn write(document: &mut Document, summary: &Summary) {
    let Some(Manifest { config, .. }) = &summary.identity.manifest else {
        return;
    };
    let Some(jobs) = &config.jobs else {
        return;
    };
    let cells: Vec<&JobsOfCell> = summary.measured().map(|cell| &cell.measured.jobs).collect();
    let mut runs = BTreeMap::<usize, usize>::new();
    for (jobs, of_cell) in cells.iter().flat_map(|cell| &cell.runs) {
        *runs.entry(*jobs).or_default() += of_cell;
    }
    let at_a_time = runs.iter().rev().map(|(jobs, runs)| {
        let runs = count(runs, "run");
        format!("{runs} at most {jobs} at a time")
    });
    // Sweeps of earlier versions halved their jobs; then those that were left count.
    let pairs = cells.iter().flat_map(|cell| &cell.pairs);
    let fewest = pairs.clone().map(|(jobs, _)| *jobs).min();
    let pairs = pairs.filter(|(jobs, _)| Some(*jobs) == fewest);
    let pairs: Vec<&[Vec<SliceSums>; 2]> = pairs.map(|(_, pair)| pair).collect();
    let all = |variants: &Vec<SliceSums>| {
        let sum = variants.iter().copied().reduce(SliceSums::plus);
        sum.unwrap_or_default()
    };
    let sums: Vec<AlonePair> = pairs.iter().map(|pair| pair.each_ref().map(all)).collect();
    let found = BesideOthers::of(&sums);
    let rows = found.iter().map(|found| {
        let interval = Interval::new(found.interval.0, found.interval.1);
        Row::of("beside others, compared with alone", found.quantity)
            .with("change", text::change(found.percent, "%", interval))
            .with("pairs", found.pairs)
    });
    let named = |of: fn(&BesideOthers) -> bool| {
        let named = found.iter().filter(|it| of(it));
        named.map(|it| it.quantity).collect()
    };
    let control = config
        .variants
        .iter()
        .position(|it| it.role == Role::Control);
    let of_control = |side: usize| {
        let share = |it: &SliceSums| it.slow as f64 / it.polls as f64;
        let noise = |pair: &&[Vec<SliceSums>; 2]| {
            let variants = &pair[side];
            let noise = 100.0 * (share(&variants[control?]) - share(&variants[0]));
            noise.is_finite().then_some(noise * noise)
        };
        Some(stats::mean(pairs.iter().filter_map(noise))?.sqrt())
    };
    document.prose(&prose!('a "jobs.txt" {
        at_a_time: Vec<String> = at_a_time.collect(),
        places: &'a [Placement] = &jobs.places,
        pairs: usize = pairs.len(),
        fewest: usize = fewest.unwrap_or(0),
        found: String = table(rows),
        disturbed: Vec<&'static str> = named(BesideOthers::disturbs),
        unknown: Vec<&'static str> = named(|it| !it.is_harmless()),
        noise: Option<[f64; 2]> = of_control(0).zip(of_control(1)).map(<[f64; 2]>::from),
    }));
}
