//! The sections about where the time goes and about what QUIC counted.

use std::collections::BTreeMap;

use run_format::BASELINE;

use super::markdown::{Row, table};
use crate::measure::{Metric, MetricKey, OWN, unit};
use crate::prose::{self, prose};
use crate::stats::{self, CONFIDENCE, Uncertain};
use crate::summary::children::{self, ChildShare, PollTimeShares};
use crate::summary::{CellSummary, Summary};
use crate::text::{self, joined_any, number, quoted};
use crate::verdict::Verdict;

pub(super) fn text(summary: &Summary, verdict: &Verdict) -> String {
    let candidates = verdict.candidates.iter();
    let yields = candidates.flat_map(|candidate| &candidate.yields);
    let single = yields.filter_map(|yields| {
        let percent = yields.single_iteration_percent?;
        Some((summary.function(yields.site), percent))
    });
    let slow = PollTimeShares::add_up(summary.measured_cells(), verdict.site).slow_polls;
    prose::text(&prose!('a "questions.txt" {
        single: BTreeMap<&'a str, f64> = single.collect(),
        function: &'a str = summary.function(verdict.site),
        slow: Option<String> = large_shares(&slow),
        beyond: Option<String> = large_shares(&children::beyond(summary, verdict.site)),
    }))
}

/// Returns the shares of at least 1 %, such as "`muxing.poll_unpin` 87.6 %, own code 1.92 %". None if nothing was recorded.
fn large_shares(shares: &[ChildShare]) -> Option<String> {
    let large = shares.iter().filter(|share| share.percent >= 1.0);
    let in_words = large.map(|share| match share.child {
        OWN => format!("{OWN} {} %", number(share.percent)),
        child => format!("{} {} %", quoted(child), number(share.percent)),
    });
    joined_any(in_words, ", ")
}

pub(super) fn quic(summary: &Summary, verdict: &Verdict) -> String {
    let is_shown =
        |metric: &Metric| metric.is_of_quic() && summary.has(MetricKey::new(verdict.site, *metric));
    let metrics = Metric::ALL.iter().copied().filter(is_shown);
    let rows = metrics.map(|metric| {
        let key = MetricKey::new(verdict.site, metric);
        let info = metric.info();
        let level = |cell: &CellSummary| cell.figure(key, BASELINE)?.estimate.level;
        let levels: Vec<Uncertain> = summary.measured_cells().filter_map(level).collect();
        let in_words =
            |mean: Uncertain| text::level(mean.value, info.unit, mean.interval(CONFIDENCE));
        let before = stats::mean_over_cells(&levels).map(in_words);
        let baseline = quoted(&summary.variants[BASELINE].label);
        let row = Row::new("metric", info.words).with_optional(baseline, before);
        verdict.candidates.iter().fold(row, |row, candidate| {
            let mean = verdict.mean_change(summary, candidate.variant, metric);
            let change = mean.map(|mean| text::mean_change(&mean, unit(metric)));
            row.with_optional(quoted(&candidate.label), change)
        })
    });
    prose::text(&prose!("quic.txt" { table: String = table(rows) }))
}
