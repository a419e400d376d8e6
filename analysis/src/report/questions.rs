//! The sections about where the time goes and about what QUIC counted.

use std::collections::BTreeMap;

use run_format::BASELINE;

use super::markdown::{Row, joined_any, quoted, table};
use crate::measure::{Metric, MetricKey, OWN};
use crate::prose::{self, prose};
use crate::stats::{self, Uncertain};
use crate::summary::{CONFIDENCE, CellSummary, Summary};
use crate::text::{self, number};
use crate::verdict::holders::{self, Shares};
use crate::verdict::{Verdict, unit};

pub(super) fn text(summary: &Summary, verdict: &Verdict) -> String {
    let candidates = verdict.candidates.iter();
    let yields = candidates.flat_map(|candidate| &candidate.yields);
    let single = yields.filter_map(|yields| {
        let percent = yields.single_iteration_percent?;
        Some((summary.function(yields.site), percent))
    });
    let [_, slow] = holders::shares(summary.measured(), verdict.site);
    let is_known = !slow.is_empty();
    prose::text(&prose!('a "questions.txt" {
        single: BTreeMap<&'a str, f64> = single.collect(),
        function: &'a str = summary.function(verdict.site),
        slow: Option<String> = is_known.then(|| large_shares(slow).unwrap_or_default()),
        beyond: Option<String> = large_shares(holders::beyond(summary, verdict.site)),
    }))
}

/// "`muxing.poll_unpin` 87.6 %, own code 1.92 %"
fn large_shares(shares: Shares) -> Option<String> {
    let large = shares.into_iter().filter(|(_, percent)| *percent >= 1.0);
    let in_words = large.map(|(child, percent)| match child {
        OWN => format!("{OWN} {} %", number(percent)),
        child => format!("{} {} %", quoted(child), number(percent)),
    });
    joined_any(in_words, ", ")
}

pub(super) fn of_quic(summary: &Summary, verdict: &Verdict) -> String {
    let of_quic =
        |metric: &Metric| metric.is_of_quic() && summary.has(MetricKey::new(verdict.site, *metric));
    let metrics = Metric::ALL.iter().copied().filter(of_quic);
    let rows = metrics.map(|metric| {
        let key = MetricKey::new(verdict.site, metric);
        let info = metric.info();
        let level = |cell: &CellSummary| cell.figure(key, BASELINE)?.estimate.level;
        let levels: Vec<Uncertain> = summary.measured().filter_map(level).collect();
        let in_words =
            |mean: Uncertain| text::level(mean.value, info.unit, mean.interval(CONFIDENCE));
        let before = stats::mean_over_cells(&levels).map(in_words);
        let baseline = quoted(&summary.variants[BASELINE].label);
        let row = Row::new("metric", info.words).with_any(baseline, before);
        verdict.candidates.iter().fold(row, |row, candidate| {
            let mean = candidate.details.get(&metric);
            let change = mean.map(|mean| text::mean_change(mean, unit(metric)));
            row.with_any(quoted(&candidate.label), change)
        })
    });
    prose::text(&prose!("quic.txt" { table: String = table(rows) }))
}
