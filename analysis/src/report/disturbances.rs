//! Says what the machine did to a measurement: what others took of central's core, and what was set aside because of that.

use crate::load::Disturbances;
use crate::metrics::Checks;
use crate::metrics::checks::sum_of_disturbances;
use crate::prose::{self, prose};
use crate::stats::Spread;
use crate::summary::Summary;
use crate::text::{joined, number};

/// Says how many blocks were set aside, and why. Empty if none was.
pub(super) fn set_aside_words(set_aside: &Disturbances, left: usize, what: &str) -> String {
    let by_cause = set_aside.iter();
    let causes = by_cause.map(|(cause, blocks)| format!("in {blocks} of them {}", cause.clause()));
    prose::text(&prose!('a "set_aside.txt" {
        taken: usize = set_aside.values().sum(),
        left: usize = left,
        what: &'a str = what,
        causes: String = joined(causes, ", "),
    }))
}

pub(super) fn disturbed_blocks(summary: &Summary) -> String {
    let set_aside = sum_of_disturbances(summary.checks().map(|checks| &checks.set_aside));
    let blocks = summary.measured_cells().map(|cell| cell.data.blocks).sum();
    set_aside_words(&set_aside, blocks, "block")
}

/// The share of central's core that others took, in percent, over cells.
fn taken_percent(summary: &Summary) -> Option<Spread> {
    let percent = |checks: &Checks| {
        let taken = checks.steal_percent? + checks.waiting_percent?;
        Some(taken.min(100.0))
    };
    Spread::over(summary.checks().filter_map(percent))
}

/// Warns the reader before anything else if others took much of central's core.
pub(super) fn warning(summary: &Summary) -> Option<String> {
    const MOST_PERCENT: f64 = 5.0;
    let median = taken_percent(summary)?.upper_median;
    (median > MOST_PERCENT).then(|| {
        format!(
            "**The machine was disturbed**: other programs or the hypervisor took {} % of central's core in the median cell. \
             Polls and wake-ups are corrected for that, throughput and request latency are not.",
            number(median)
        )
    })
}

/// Up to three sentences about what the machine did to the measurement, besides the warning.
pub(super) fn sentences(summary: &Summary) -> Vec<String> {
    let taken = taken_percent(summary).filter(|_| warning(summary).is_none());
    prose::sentences(&prose!("disturbances.txt" {
        taken: Option<Spread> = taken,
        disturbed: String = disturbed_blocks(summary),
        beside: usize = summary.checks().map(|checks| checks.beside).sum(),
    }))
}
