//! Whether cells that were measured at the same time disturbed each other.

use std::collections::BTreeMap;

use plan::jobs::{AlonePair, BesideOthers, LIMIT_PERCENT};
use plan::sums::SliceSums;
use run_format::manifest::Manifest;
use run_format::variant::Role;

use super::markdown::{Document, Row, joined};
use crate::measure::jobs::JobsOfCell;
use crate::stats::{self, Interval};
use crate::summary::Summary;
use crate::text::{self, count, number};

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
    let title = "Did cells that were measured at the same time disturb each other?";
    document.details(title, |document| {
        let runs = runs.iter().rev();
        let at_a_time = runs.map(|(jobs, runs)| {
            let runs = count(*runs, "run");
            format!("{runs} at most {jobs} at a time")
        });
        document.paragraph(format!(
            "Measured: {}. Their places:",
            joined(at_a_time, ", ")
        ));
        document.list(&jobs.places);
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
        document.paragraph(format!(
            "{} were also measured alone, with {} at other times. Means of all pairs, with 95 % intervals. The limit is \
             {LIMIT_PERCENT} %. {}",
            count(pairs.len(), "run"),
            count(fewest.unwrap_or(0), "job"),
            verdict(&found)
        ));
        document.table(found.iter().map(|found| {
            let interval = Interval::new(found.interval.0, found.interval.1);
            Row::of("beside others, compared with alone", found.quantity)
                .with("change", text::change(found.percent, "%", interval))
                .with("pairs", found.pairs)
        }));
        let control = config.variants.iter().position(|it| it.role == Role::Control);
        let of_control = |side: usize| {
            let share = |it: &SliceSums| it.slow as f64 / it.polls as f64;
            let noise = |pair: &&[Vec<SliceSums>; 2]| {
                let variants = &pair[side];
                let noise = 100.0 * (share(&variants[control?]) - share(&variants[0]));
                noise.is_finite().then_some(noise * noise)
            };
            let mean_square = stats::mean(pairs.iter().filter_map(noise))?;
            Some(number(mean_square.sqrt()))
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
        format!(
            "**Cells disturb each other by more than the limit: {disturbed}. Measure again with fewer jobs.**"
        )
    } else if found.iter().all(BesideOthers::is_harmless) {
        "Cells do not disturb each other by more than the limit.".to_owned()
    } else {
        let unknown = named(|it| !it.is_harmless());
        format!("Whether they disturb each other by more than the limit is not known of {unknown}.")
    }
}
