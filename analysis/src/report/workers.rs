//! What each of central's workers did, where there are several.

use super::markdown::{Document, Row, quoted, table};
use crate::measure::workers::Workers;
use crate::options::Options;
use crate::prose::prose;
use crate::stats::Counts;
use crate::summary::Summary;
use crate::text::number;

pub(super) fn write(document: &mut Document, summary: &Summary, options: &Options) {
    let cells = summary.measured().map(|cell| &cell.measured.workers);
    let cells: Vec<&Vec<Workers>> = cells.collect();
    let variants = cells.iter().map(|cell| cell.len()).max().unwrap_or(0);
    let sum = |variant: usize| {
        let mut sum = Workers::default();
        let of_cells = cells.iter().filter_map(|cell| cell.get(variant));
        of_cells.for_each(|of_cell| sum.add(of_cell));
        sum
    };
    let sums: Vec<Workers> = (0..variants).map(sum).collect();
    let Some(baseline) = sums.first() else {
        return;
    };
    let percent_of_time = |ns: Option<u64>| percent(ns? as f64 / 1e6, baseline.sampled_ms);
    let threads = baseline.threads.iter().map(|row| {
        let thread = match row.worker {
            0 => "main".to_owned(),
            number => format!("worker {number}"),
        };
        Row::of("thread", thread)
            .with_any("cores", row.cores.as_ref())
            .with("polls", row.polls)
            .with_any("slow", percent(row.slow_polls as f64, row.polls as f64))
            .with_any("CPU time, of a core", percent_of_time(row.cpu_ns))
            .with_any(
                "ready but waiting for its core",
                percent_of_time(row.runqueue_ns),
            )
    });
    let late = |delays_ns: &Counts| {
        let late = delays_ns.above(options.figures.threshold);
        percent(late as f64, delays_ns.total() as f64)
    };
    let p90_us = |delays_ns: &Counts| Workers::p90_us(delays_ns).map(number);
    let variants = summary.variants.iter().zip(&sums).map(|(variant, sums)| {
        Row::of("variant", quoted(&variant.label))
            .with_any("any worker: late", late(&sums.any_worker_ns))
            .with_any("p90, µs", p90_us(&sums.any_worker_ns))
            .with_any("same worker: late", late(&sums.same_worker_ns))
            .with_any("p90, µs", p90_us(&sums.same_worker_ns))
    });
    document.prose(&prose!('a "workers.txt" {
        function: &'a str = summary.function(summary.identity.sites.of_connections()),
        threads: String = table(threads),
        threshold: String = options.threshold_text(),
        variants: String = table(variants),
    }));
}

fn percent(part: f64, whole: f64) -> Option<String> {
    (whole > 0.0).then(|| format!("{} %", number(100.0 * part / whole)))
}
