//! Whether cells that were measured at the same time disturbed each other.

use std::collections::BTreeMap;

use plan::{
    jobs::{AlonePair, BesideOthers, LIMIT_PERCENT},
    sums::SliceSums,
};
use run_format::variant::Role;

use super::markdown::{Document, joined};
use crate::{
    measure::jobs::JobsOfCell,
    stats::Interval,
    summary::Summary,
    text::{self, count, number},
};

pub(super) fn write(document: &mut Document, summary: &Summary) {
    let manifest = summary.identity.manifest.as_ref();
    let Some(config) = manifest.map(|it| &it.config) else {
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
    document.details("Did cells that were measured at the same time disturb each other?", |document| {
        let at_a_time = |(jobs, runs): (&usize, &usize)| format!("{} at most {jobs} at a time", count(*runs, "run"));
        document.paragraph(format!(
            "Measured: {}. A sweep whose jobs disturb each other goes on with half of them. Their places:",
            joined(runs.iter().rev().map(at_a_time), ", ")
        ));
        document.list(&jobs.places);
        // After a sweep has halved its jobs, those that are left count.
        let pairs = cells.iter().flat_map(|cell| &cell.pairs);
        let fewest = pairs.clone().map(|(jobs, _)| *jobs).min();
        let pairs: Vec<&[Vec<SliceSums>; 2]> = pairs
            .filter(|(jobs, _)| Some(*jobs) == fewest)
            .map(|(_, pair)| pair)
            .collect();
        let all = |of: &[SliceSums]| of.iter().copied().reduce(SliceSums::plus).unwrap_or_default();
        let sums: Vec<AlonePair> = pairs.iter().map(|[beside, alone]| [all(beside), all(alone)]).collect();
        let found = BesideOthers::of(&sums);
        document.paragraph(format!(
            "{} were also measured alone, with {} at other times. Means of all pairs, with 95 % intervals. The limit is \
             {LIMIT_PERCENT} %. {}",
            count(pairs.len(), "run"),
            count(fewest.unwrap_or(0), "job"),
            verdict(&found)
        ));
        let change = |it: &BesideOthers| text::change(it.percent, "%", Interval { low: it.interval.0, high: it.interval.1 });
        document.table(
            "beside others, compared with alone | change | pairs",
            found.iter().map(|it| vec![it.quantity.to_owned(), change(it), it.pairs.to_string()]),
        );
        let control = config.variants.iter().position(|it| it.role == Role::Control);
        let of_control = |side: usize| {
            let share = |it: &SliceSums| it.slow as f64 / it.polls as f64;
            let noise = |pair: &&[Vec<SliceSums>; 2]| {
                let variants = &pair[side];
                let noise = 100.0 * (share(&variants[control?]) - share(&variants[0]));
                noise.is_finite().then_some(noise * noise)
            };
            let squares: Vec<f64> = pairs.iter().filter_map(noise).collect();
            let mean = squares.iter().sum::<f64>() / squares.len() as f64;
            (!squares.is_empty()).then(|| number(mean.sqrt()))
        };
        if let (Some(beside), Some(alone)) = (of_control(0), of_control(1)) {
            document.paragraph(format!(
                "In these runs the A/A control differs from the baseline in the share of slow polls by {beside} pp beside \
                 others, and by {alone} pp alone (root mean square)."
            ));
        }
    });
}

fn verdict(found: &[BesideOthers]) -> String {
    let named = |of: fn(&BesideOthers) -> bool| {
        let named = found.iter().filter(|it| of(it));
        joined(named.map(|it| it.quantity), " and ")
    };
    let disturbed = named(BesideOthers::disturbs);
    if found.is_empty() {
        "There are too few pairs to say whether cells disturb each other.".to_owned()
    } else if !disturbed.is_empty() {
        format!("**Cells disturb each other by more than the limit: {disturbed}.**")
    } else if found.iter().all(BesideOthers::is_harmless) {
        "Cells do not disturb each other by more than the limit.".to_owned()
    } else {
        let unknown = named(|it| !it.is_harmless());
        format!("Whether they disturb each other by more than the limit is not known of {unknown}.")
    }
}
