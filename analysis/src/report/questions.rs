//! The sections about where the time goes and about what QUIC counted.

use std::collections::BTreeMap;

use super::markdown::{Row, joined_any, quoted, table};
use crate::measure::{Metric, MetricKey, OWN};
use crate::prose::{self, prose};
use crate::stats::{self, Uncertain};
use crate::summary::{CONFIDENCE, CellSummary, Summary};
use crate::text::{self, number};
use crate::verdict::holders::{self, Shares};
use crate::verdict::{Verdict, unit};

pub(super) fn text(summary: &Summary, verdict: &Verdict) -> String {
    let yields = verdict
        .candidates
        .iter()
        .flat_map(|candidate| &candidate.yields);
    let single = yields.filter_map(|yields| {
        Some((
            summary.function(yields.site),
            yields.single_iteration_percent?,
        ))
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
        let what = MetricKey::new(verdict.site, metric);
        let level = |cell: &CellSummary| cell.figure(what, 0)?.estimate.level;
        let levels: Vec<Uncertain> = summary.measured().filter_map(level).collect();
        let (level, unit_of_level) = (stats::mean_over_cells(&levels), metric.info().unit);
        let level =
            level.map(|level| text::level(level.value, unit_of_level, level.interval(CONFIDENCE)));
        let mut row = Row::new("metric", metric.info().words);
        if let Some(baseline) = summary.variants.first() {
            row = row.with_any(quoted(&baseline.label), level);
        }
        for candidate in &verdict.candidates {
            let change = candidate.details.get(&metric);
            let change = change.map(|change| text::mean_change(change, unit(metric)));
            row = row.with_any(quoted(&candidate.label), change);
        }
        row
    });
    prose::text(&prose!("quic.txt" { table: String = table(rows) }))
}
