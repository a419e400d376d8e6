//! The report of an `rr` run: what libp2p adds to the kernel's TCP.

use run_format::network::Rtt;
use run_format::variant::BASELINE;

use super::disturbed::of_sweep;
use super::markdown::{Document, Frame, Row};
use super::{caveats, method};
use crate::measure::{Metric, Place};
use crate::options::Options;
use crate::stats::Interval;
use crate::summary::{CONFIDENCE, CellFigure, CellSummary, Summary};
use crate::text::{self, number};

pub(crate) fn sentences(summary: &Summary) -> Vec<String> {
    let libp2p = summary.candidates().next();
    let sentence = |cell| libp2p.and_then(|(libp2p, _)| sentence(cell, libp2p));
    let measured = summary.measured().filter_map(sentence);
    measured.chain(caveats::incomplete(summary)).collect()
}

pub(crate) fn text(summary: &Summary, frame: Frame) -> String {
    let title = format!("What libp2p adds to TCP: {}", summary.identity.name);
    let sites = &summary.identity.sites;
    let mut document = Document::new("rr", &title, sites, frame);
    figures(&mut document, summary);
    document.heading("Caveats of this run");
    document.list(caveats(summary, frame.2));
    method::write(&mut document, summary);
    document.finish()
}

fn figures(document: &mut Document, summary: &Summary) {
    let mut rows = Vec::new();
    for cell in summary.measured() {
        let mut add = |name: String, at: usize, field: fn(&CellFigure) -> Option<String>| {
            let payload = cell.measured.cell.payload_bytes.in_words();
            let mut row = Row::of("payload", payload).with("variant", name);
            for metric in Metric::shown_in(Place::RawTcp) {
                let figure = cell.worker_figure(metric, at);
                row = row.with_any(metric.title(), figure.and_then(field));
            }
            rows.push(row);
        };
        let variants = || summary.variants.iter().enumerate();
        for (at, variant) in variants() {
            add(variant.label.clone(), at, |it| {
                Some(number(it.estimate.value))
            });
        }
        for (at, variant) in variants().skip(1) {
            let name = format!("{} / {}", variant.label, summary.variants[BASELINE].label);
            add(name, at, |it| times(it).map(ratio));
        }
    }
    document.table(rows);
    document.paragraph(
        "Rows with a slash are ratios, with 95 % intervals over blocks. The ratio of raw TCP to itself shows the noise: \
         where it clearly differs from 1, the ratio of libp2p may be wrong by as much.",
    );
    let axes = &summary.axes;
    document.paragraph(format!(
        "Each peer (of {}) has one request in progress at a time, over a round trip of {} ms. Two paths take turns on one \
         thread: libp2p with one stream per peer, and a TCP socket (`TCP_NODELAY`). The same code sends the requests of both. \
         Only the path that has its turn has a request in progress. No polls are recorded, and nothing else runs on \
         central's thread. CPU time is that of this thread. Latency includes the peer's work.",
        axes.peers.iter().max().copied().unwrap_or(0),
        number(axes.rtt_ms.first().copied().map_or(0.0, Rtt::ms)),
    ));
}

fn caveats(summary: &Summary, options: &Options) -> Vec<String> {
    let mut caveats = caveats::of_sweep(summary, options);
    if summary.identity.real_network.is_none() {
        let link = "CPU time includes a part of what the kernel does for the receiving peer, because the link is a pair of \
                    virtual interfaces.";
        caveats.push(link.to_owned());
    }
    let disturbed = of_sweep(summary, |_| true);
    caveats.extend((!disturbed.is_empty()).then(|| disturbed.trim().to_owned()));
    let lost: u64 = summary.checks().map(|it| it.lost).sum();
    caveats.extend((lost > 0).then(|| format!("{lost} requests found the buffer full.")));
    caveats
}

/// "libp2p adds …". None where the two cannot be compared.
fn sentence(cell: &CellSummary, libp2p: usize) -> Option<String> {
    let of = |metric| cell.worker_figure(metric, libp2p);
    let raw = |metric| Some(cell.worker_figure(metric, BASELINE)?.estimate.value);
    let added = |metric, scale: f64| {
        let change = of(metric)?.change?;
        let interval = change.interval()?.times(scale);
        Some(text::change(scale * change.value, "µs", interval).replace('+', ""))
    };
    let latency = added(Metric::LatencyP50Ms, 1e3)?;
    let size = cell.measured.cell.payload_bytes.in_words();
    let cpu = || {
        let metric = Metric::CpuUsPerRequest;
        Some((added(metric, 1.0)?, times(of(metric)?)?, raw(metric)?))
    };
    Some(match cpu() {
        None => format!(
            "libp2p adds {latency} of latency (p50) to a request of {size}. Over the kernel's TCP alone, the request takes \
             {} µs.",
            number(1e3 * raw(Metric::LatencyP50Ms)?),
        ),
        Some((added, times, raw)) => {
            let (times, raw) = (ratio(times), number(raw));
            format!(
                "libp2p adds {added} of CPU time and {latency} of latency (p50) to a request of {size}. Over the kernel's \
                 TCP alone, the request takes {raw} µs of CPU time; with libp2p it takes {times} times as much."
            )
        }
    })
}

fn times(figure: &CellFigure) -> Option<(f64, Interval)> {
    let relative = figure.change?.relative?.times(0.01);
    let Interval { low, high } = relative.interval(CONFIDENCE);
    let interval = Interval::new((1.0 + low).max(0.0), 1.0 + high);
    Some((1.0 + relative.value, interval))
}

fn ratio((value, interval): (f64, Interval)) -> String {
    text::level(value, "", interval)
}
