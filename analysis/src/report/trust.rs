//! Cross-checks: the probe against another counter, its own cost, what was lost, what the network and the
//! machine did, and how often the twin was taken for a change.

use super::markdown::Document;
use crate::{
    measure::{
        checks::Checks,
        metric::{Metric, What},
    },
    summary::{CellSummary, Summary},
    text::number,
    verdict::Verdict,
};

/// Beyond these a cell is named.
struct Limit {
    what: &'static str,
    unit: &'static str,
    of: fn(&Checks) -> Option<f64>,
    most: f64,
}

const LIMITS: [Limit; 11] = [
    Limit {
        what: "records lost to full buffers",
        unit: "",
        of: |checks| Some(checks.lost as f64),
        most: 0.0,
    },
    Limit {
        what: "the probe's cost, of central's CPU time",
        unit: "%",
        of: |checks| checks.probe_percent,
        most: 3.0,
    },
    Limit {
        what: "task polls, probe against `tokio_metrics`",
        unit: "%",
        of: |checks| checks.monitor_polls_percent,
        most: 2.0,
    },
    Limit {
        what: "slow task polls over 50 µs, likewise",
        unit: "%",
        of: |checks| checks.monitor_slow_percent,
        most: 10.0,
    },
    Limit {
        what: "their time, likewise",
        unit: "%",
        of: |checks| checks.monitor_time_percent,
        most: 5.0,
    },
    Limit {
        what: "time stolen by the hypervisor, of one core",
        unit: "%",
        of: |checks| checks.steal_percent,
        most: 2.0,
    },
    Limit {
        what: "central's worker ready but waiting for its core",
        unit: "%",
        of: |checks| checks.waiting_percent,
        most: 5.0,
    },
    Limit {
        what: "involuntary switches of central's worker, per second",
        unit: "",
        of: |checks| checks.involuntary_switches_per_s,
        most: 1000.0,
    },
    Limit {
        what: "kernel's share of central's CPU time",
        unit: "%",
        of: |checks| checks.kernel_percent,
        most: f64::INFINITY,
    },
    Limit {
        what: "packets dropped by queues",
        unit: "",
        of: |checks| checks.drops.map(|drops| drops as f64),
        most: 0.0,
    },
    Limit {
        what: "TCP segments sent again",
        unit: "",
        of: |checks| checks.retransmits.map(|segments| segments as f64),
        most: 100.0,
    },
];

pub(crate) fn write(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    let rows: Vec<Vec<String>> = LIMITS.iter().map(|limit| row(summary, limit)).collect();
    document.table(
        &[
            "check",
            "median cell",
            "worst cell",
            "cells beyond the limit",
        ],
        &rows,
    );
    round_trips(document, summary);
    suspicious(document, summary);
    calibration(document, summary, verdict);
}

fn row(summary: &Summary, limit: &Limit) -> Vec<String> {
    let mut values: Vec<f64> = summary
        .measured()
        .filter_map(|cell| (limit.of)(&cell.checks))
        .collect();
    values.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let show = |value: Option<&f64>| {
        value.map_or_else(
            || "not measured".to_owned(),
            |value| {
                format!("{} {}", number(*value), limit.unit)
                    .trim_end()
                    .to_owned()
            },
        )
    };
    let beyond = values
        .iter()
        .filter(|value| value.abs() > limit.most)
        .count();
    let beyond = if limit.most.is_finite() {
        format!("{beyond} (limit {})", limit.most)
    } else {
        "–".to_owned()
    };
    vec![
        limit.what.to_owned(),
        show(values.get(values.len() / 2)),
        show(values.last()),
        beyond,
    ]
}

/// What was asked for and what was measured, by axis.
fn round_trips(document: &mut Document, summary: &Summary) {
    let of_axis = |rtt_ms: f64| {
        let found: Vec<(f64, f64, f64)> = summary
            .measured()
            .filter(|cell| cell.cell.rtt_ms == rtt_ms)
            .filter_map(|cell| cell.checks.rtt_ms)
            .collect();
        let low = found.iter().map(|it| it.0).reduce(f64::min)?;
        let high = found.iter().map(|it| it.2).reduce(f64::max)?;
        Some(format!("{rtt_ms} → {}–{}", number(low), number(high)))
    };
    let parts: Vec<String> = summary
        .axes
        .rtt_ms
        .iter()
        .filter_map(|it| of_axis(*it))
        .collect();
    if !parts.is_empty() {
        document.paragraph(&format!(
            "Round trips of TCP connects before measuring, asked → least–most, ms: {}.",
            parts.join("; ")
        ));
    }
}

fn suspicious(document: &mut Document, summary: &Summary) {
    const MOST: usize = 20;
    let mut named: Vec<String> = Vec::new();
    for cell in summary.measured() {
        let reasons: Vec<String> = LIMITS
            .iter()
            .filter_map(|limit| {
                let value = (limit.of)(&cell.checks).filter(|value| value.abs() > limit.most)?;
                Some(
                    format!("{} {} {}", limit.what, number(value), limit.unit)
                        .trim_end()
                        .to_owned(),
                )
            })
            .collect();
        if !reasons.is_empty() {
            named.push(format!("{}: {}", cell.cell, reasons.join(", ")));
        }
    }
    if named.is_empty() {
        document.paragraph("No cell is beyond any limit.");
        return;
    }
    document.paragraph("Cells beyond a limit, to be read with care:");
    let more = named.len().saturating_sub(MOST);
    named.truncate(MOST);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    document.list(named);
}

/// What the twin says, metric by metric.
fn calibration(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    let Some((twin, _)) = summary.twin() else {
        return;
    };
    let whats = What::all(&[verdict.site]);
    let rows = whats.into_iter().filter_map(|what| {
        let calibration = summary.calibrations.get(&what)?;
        if calibration.pairs == 0 || what.metric == Metric::YieldsPer1000 {
            return None;
        }
        let factor = calibration.factor.map_or_else(
            || "not calibrated".to_owned(),
            |factor| format!("× {factor:.2}"),
        );
        let share = |flagged: usize| {
            let percent = 100.0 * flagged as f64 / calibration.pairs as f64;
            format!("{flagged} of {} ({percent:.1} %)", calibration.pairs)
        };
        Some(vec![
            what.metric.words().to_owned(),
            factor,
            share(calibration.flagged_before),
            if 20 * calibration.flagged_after > calibration.pairs {
                format!("**{}**", share(calibration.flagged_after))
            } else {
                share(calibration.flagged_after)
            },
            resolved(summary.measured(), what, twin).to_string(),
        ])
    });
    document.paragraph(
        "The baseline's twin, and a budget in a cell where no poll spent it, differ from the baseline by chance only. \
         How often such a pair was taken for a change at 5 % by itself, before and after their spread widened all \
         intervals of that metric; and in how many cells the twin is called resolved, with the control over all cells. \
         Bold: more than one in twenty, so that what is said of that metric is less sure than it looks:",
    );
    document.table(
        &[
            "metric",
            "intervals",
            "flagged before",
            "flagged after",
            "called resolved",
        ],
        &rows.collect::<Vec<_>>(),
    );
}

fn resolved<'a>(cells: impl Iterator<Item = &'a CellSummary>, what: What, variant: usize) -> usize {
    use crate::summary::Resolved;
    cells
        .filter_map(|cell| cell.change(what, variant))
        .filter(|change| change.resolved != Resolved::No)
        .count()
}
