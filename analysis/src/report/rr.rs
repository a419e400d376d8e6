//! The report of an `rr` run: what libp2p adds to the kernel's TCP.

use run_format::{BASELINE, Rtt};

use super::markdown::{self, Frame, Row, table};
use super::{caveats, disturbances, method};
use crate::metrics::{Metric, ReportPart};
use crate::prose::{self, prose};
use crate::report_kind::ReportKind;
use crate::stats::{CONFIDENCE, Interval};
use crate::summary::{CellFigure, CellSummary, Summary};
use crate::text::{self, number};

pub(crate) fn sentences(summary: &Summary) -> Vec<String> {
    let libp2p = summary.candidates().next();
    let sentence = |cell| libp2p.and_then(|(libp2p, _)| sentence(cell, libp2p));
    let measured = summary.measured_cells().filter_map(sentence);
    measured.chain(caveats::incomplete(summary)).collect()
}

pub(crate) fn text(summary: &Summary, frame: Frame) -> String {
    let title = format!("What libp2p adds to TCP: {}", summary.identity.name);
    let (sites, axes) = (&summary.identity.sites, &summary.axes);
    let text = prose::text(&prose!("rr.txt" {
        table: String = table(figures(summary)),
        peers: usize = axes.peers.iter().max().copied().unwrap_or(0),
        rtt_ms: f64 = axes.rtt_ms.first().copied().map_or(0.0, Rtt::ms),
        caveats: Vec<String> = caveats::sentences(summary, frame.options),
        is_real: bool = summary.identity.real_network.is_some(),
        disturbed: String = disturbances::disturbed_blocks(summary),
        lost: u64 = summary.checks().map(|checks| checks.lost).sum(),
    }));
    let parts = [Some(text), method::text(summary)];
    markdown::report(ReportKind::Rr, &title, sites, frame, parts)
}

fn figures(summary: &Summary) -> Vec<Row> {
    let mut rows = Vec::new();
    for cell in summary.measured_cells() {
        let mut add = |name: String, index: usize, field: fn(&CellFigure) -> Option<String>| {
            let payload = cell.cell().payload_bytes.in_words();
            let mut row = Row::new("payload", payload).with("variant", name);
            for metric in Metric::shown_in(ReportPart::RawTcp) {
                let figure = cell.worker_figure(metric, index);
                row = row.with_optional(metric.title(), figure.and_then(field));
            }
            rows.push(row);
        };
        let variants = || summary.variants.iter().enumerate();
        for (index, variant) in variants() {
            add(variant.label.clone(), index, |figure| {
                Some(number(figure.estimate.value))
            });
        }
        for (index, variant) in variants().skip(1) {
            let name = format!("{} / {}", variant.label, summary.variants[BASELINE].label);
            add(name, index, times);
        }
    }
    rows
}

/// "libp2p adds …". None if libp2p and raw TCP cannot be compared in this cell.
fn sentence(cell: &CellSummary, libp2p: usize) -> Option<String> {
    let figure = |metric| cell.worker_figure(metric, libp2p);
    let raw = |metric| Some(cell.worker_figure(metric, BASELINE)?.estimate.value);
    let added = |metric, scale: f64| {
        let change = figure(metric)?.change?;
        let interval = change.interval()?.times(scale);
        Some(text::with_signed_interval(scale * change.value, "µs", interval).replace('+', ""))
    };
    let cpu = || {
        let metric = Metric::CpuUsPerRequest;
        Some((added(metric, 1.0)?, times(figure(metric)?)?, raw(metric)?))
    };
    Some(prose::text(&prose!("rr_in_short.txt" {
        size: String = cell.cell().payload_bytes.in_words(),
        latency: String = added(Metric::LatencyP50Ms, 1e3)?,
        raw_us: f64 = 1e3 * raw(Metric::LatencyP50Ms)?,
        cpu: Option<(String, String, f64)> = cpu(),
    })))
}

fn times(figure: &CellFigure) -> Option<String> {
    let relative = figure.change?.relative?.times(0.01);
    let Interval { low, high } = relative.interval(CONFIDENCE);
    let interval = Interval::new((1.0 + low).max(0.0), 1.0 + high);
    Some(text::level(1.0 + relative.value, "", interval))
}
