//! What the verdict leaves out: more about each variant, and where the time goes.

use run_format::Site;

use super::markdown::{Document, Row, joined, joined_any, quoted};
use crate::measure::{Metric, MetricKey, OWN};
use crate::stats::{self, Uncertain};
use crate::summary::{CONFIDENCE, CellSummary, Summary};
use crate::text::{self, number};
use crate::verdict::holders::{self, Shares};
use crate::verdict::words::apart;
use crate::verdict::{Verdict, unit};

pub(crate) fn write(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    for (at, candidate) in verdict.candidates.iter().enumerate() {
        document.paragraph(format!("**`{}`**", candidate.label));
        document.list(details(at, summary, verdict));
    }
    let time = time(summary, verdict.site);
    document.paragraph(format!("**Where does the time go?** {time}"));
}

fn details(at: usize, summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let candidate = &verdict.candidates[at];
    let details = candidate.details.iter();
    let details = details.filter(|(metric, _)| !metric.is_of_quic());
    let details = details.map(|(metric, change)| {
        let words = metric.info().words;
        let change = text::mean_change(change, unit(*metric));
        let spoilt = verdict.spoilt.get(metric);
        let spoilt = spoilt.map_or_else(String::new, |reason| format!(" (spoilt: {reason})"));
        format!("{words} {change}{spoilt}")
    });
    let mut lines = verdict.details(candidate);
    if !candidate.differs {
        lines.extend(candidate.in_regimes());
    }
    lines.extend(verdict.beating(at).map(|it| {
        let (by, apart) = (&verdict.candidates[it.to].label, apart(&it.judged));
        format!("Compared with it, {} has {apart}.", quoted(by))
    }));
    lines.push(format!(
        "Changes that decide nothing, each interval 95 % by itself: {}.",
        joined(details, "; ")
    ));
    lines.extend(candidate.yields.iter().filter_map(|yields| {
        let percent = number(yields.single_iteration_percent?);
        let function = summary.function(yields.site);
        Some(format!(
            "Without a budget, {percent} % of the slow polls of `{function}` have a single slow iteration, which no limit on \
             iterations prevents."
        ))
    }));
    lines
}

fn time(summary: &Summary, site: Site) -> String {
    let [_, slow] = holders::of(summary.measured(), site);
    if slow.is_empty() {
        return "The time of children was not recorded.".to_owned();
    }
    let slow = large_shares(slow);
    let beyond = large_shares(holders::beyond(summary, site)).map_or_else(String::new, |shares| {
        format!(" Of the time by which polls of children are longer than 50 µs: {shares}.")
    });
    let (function, slow) = (summary.function(site), slow.unwrap_or_default());
    format!(
        "Of the time in slow polls of `{function}`, over all cells of the baseline: {slow}.{beyond}"
    )
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

pub(super) fn write_quic(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    let of_quic =
        |metric: &Metric| metric.is_of_quic() && summary.has(MetricKey::new(verdict.site, *metric));
    let metrics: Vec<Metric> = Metric::ALL.iter().copied().filter(of_quic).collect();
    if metrics.is_empty() {
        return;
    }
    let rows = metrics.into_iter().map(|metric| {
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
    document.details("What QUIC counted", |document| {
        document.paragraph(
            "By central's connections and sockets. First the mean over cells without a budget, then what each budget \
             changes. Each interval is 95 % by itself. A dash is a change that is not known, as that of losses where nothing \
             is lost.",
        );
        document.table(rows);
    });
}
