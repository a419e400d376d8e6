//! What the verdict leaves out: more about each variant, and where the time goes.

use super::markdown::{Row, joined_any, quoted, table};
use crate::measure::{Metric, MetricKey, OWN};
use crate::prose::{self, prose};
use crate::stats::{self, Uncertain};
use crate::summary::{CONFIDENCE, CellSummary, Summary};
use crate::text::{self, number};
use crate::verdict::holders::{self, Shares};
use crate::verdict::words::apart;
use crate::verdict::{Candidate, Verdict, unit};

pub(super) fn text(summary: &Summary, verdict: &Verdict) -> String {
    let candidates = verdict.candidates.iter().enumerate();
    let variants = candidates.map(|(at, it)| (&*it.label, details(at, summary, verdict)));
    let [_, slow] = holders::of(summary.measured(), verdict.site);
    let is_known = !slow.is_empty();
    prose::text(&prose!('a "questions.txt" {
        variants: Vec<(&'a str, Vec<String>)> = variants.collect(),
        function: &'a str = summary.function(verdict.site),
        slow: Option<String> = is_known.then(|| large_shares(slow).unwrap_or_default()),
        beyond: Option<String> = large_shares(holders::beyond(summary, verdict.site)),
    }))
}

fn details(at: usize, summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let candidate = &verdict.candidates[at];
    let others = candidate.details.iter();
    let others = others.filter(|(metric, _)| !metric.is_of_quic());
    let others = others.map(|(metric, change)| {
        let change = text::mean_change(change, unit(*metric));
        format!("{} {change}", metric.info().words)
    });
    let beaten = verdict.beating(at);
    let beaten = beaten.map(|it| (&*verdict.candidates[it.to].label, apart(&it.judged)));
    prose::sentences(&prose!('a "about_variant.txt" {
        summary: &'a Summary = summary,
        verdict: &'a Verdict = verdict,
        candidate: &'a Candidate = candidate,
        beaten: Option<(&'a str, String)> = beaten,
        others: Vec<String> = others.collect(),
    }))
}

/// "`muxing.poll_unpin` 87.6 %, own code 1.92 %"
fn large_shares(shares: Shares) -> Option<String> {
    let large = shares.into_iter().filter(|(_, percent)| *percent >= 1.0);
    let large = large.map(|(child, percent)| match child {
        OWN => format!("{OWN} {} %", number(percent)),
        child => format!("{} {} %", quoted(child), number(percent)),
    });
    joined_any(large, ", ")
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
        let level = level.map(|it| text::level(it.value, unit_of_level, it.interval(CONFIDENCE)));
        let mut row = Row::of("metric", metric.info().words);
        if let Some(baseline) = summary.variants.first() {
            row = row.with_any(quoted(&baseline.label), level);
        }
        for candidate in &verdict.candidates {
            let change = candidate.details.get(&metric);
            let change = change.map(|it| text::mean_change(it, unit(metric)));
            row = row.with_any(quoted(&candidate.label), change);
        }
        row
    });
    prose::text(&prose!("quic.txt" { table: String = table(rows) }))
}
