//! What each of central's workers did, where there are several.

use run_format::tables::WorkerRow;

use super::markdown::{Document, or_dash, quoted};
use crate::{measure::workers::Workers, options::Options, summary::Summary, text::number};

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
    document.details("Central's workers", |document| {
        document.paragraph(format!(
            "All cells together, without intervals. Polls are those of `{}`, slow over 50 µs. The main thread shares the \
             cores of the workers. Of the baseline:",
            summary.function(summary.identity.sites.of_connections())
        ));
        let head = "thread | cores | polls | slow | CPU time, of a core | ready but waiting for its core";
        let rows = baseline.threads.iter();
        document.table(head, rows.map(|row| of_thread(row, baseline.sampled_ms)));
        document.paragraph(format!(
            "A wake-up is late if the co-tenant waits longer than {}. A co-tenant that another thread wakes may run on \
             any worker; its waits are counted from the floor, if that was recorded. One that a connection wakes, just before \
             it is polled, is queued on that connection's worker. That worker is awake, so nothing is subtracted:",
            options.threshold_text()
        ));
        let head = "variant | any worker: late | p90, µs | same worker: late | p90, µs";
        let rows = summary.variants.iter().zip(&sums);
        document.table(
            head,
            rows.map(|(variant, of)| {
                let mut row = vec![quoted(&variant.label)];
                for delays_ns in [&of.any_worker_ns, &of.same_worker_ns] {
                    let late = delays_ns.above(options.figures.threshold);
                    row.push(percent(Some(late as f64), delays_ns.total() as f64));
                    row.push(or_dash(Workers::p90_us(delays_ns).map(number)));
                }
                row
            }),
        );
    });
}

fn of_thread(row: &WorkerRow, sampled_ms: f64) -> Vec<String> {
    let ms = |ns: Option<u64>| Some(ns? as f64 / 1e6);
    vec![
        match row.worker {
            0 => "main".to_owned(),
            number => format!("worker {number}"),
        },
        or_dash(row.cores.as_ref().map(ToString::to_string)),
        row.polls.to_string(),
        percent(Some(row.slow_polls as f64), row.polls as f64),
        percent(ms(row.cpu_ns), sampled_ms),
        percent(ms(row.runqueue_ns), sampled_ms),
    ]
}

fn percent(part: Option<f64>, whole: f64) -> String {
    let part = part.filter(|_| whole > 0.0);
    or_dash(part.map(|part| format!("{} %", number(100.0 * part / whole))))
}
