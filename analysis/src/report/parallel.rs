//! Says whether cells that were measured at the same time disturbed each other, and what each of central's workers did.

use std::collections::BTreeMap;

use run_format::counts::Counts;
use run_format::{Manifest, Placement};

use super::markdown::{Row, table};
use crate::metrics::parallel::{JobsOfCell, Workers};
use crate::options::Options;
use crate::prose::{self, prose};
use crate::stats::{self, AlonePair, BesideOthers, LIMIT_PERCENT};
use crate::summary::Summary;
use crate::text::{self, count, number, quoted};

pub(super) fn jobs(summary: &Summary) -> Option<String> {
    let Manifest { config, .. } = summary.identity.manifest.as_ref()?;
    let jobs = config.jobs.as_ref()?;
    let cells: Vec<&JobsOfCell> = summary
        .measured_cells()
        .map(|cell| &cell.data.jobs)
        .collect();
    let mut runs = BTreeMap::<usize, usize>::new();
    for (jobs, runs_of_cell) in cells.iter().flat_map(|cell| &cell.runs) {
        *runs.entry(*jobs).or_default() += runs_of_cell;
    }
    let at_a_time = runs.iter().rev().map(|(jobs, runs)| {
        let runs = count(runs, "run");
        format!("{runs} at most {jobs} at a time")
    });
    let pairs: Vec<AlonePair> = cells.iter().flat_map(|cell| &cell.pairs).copied().collect();
    let found = BesideOthers::compare(&pairs);
    let rows = found.iter().map(|found| {
        let change = text::with_signed_interval(found.percent, "%", found.interval);
        Row::new("beside others, compared with alone", found.quantity)
            .with("change", change)
            .with("pairs", found.pairs)
    });
    let named = |is_named: fn(&BesideOthers) -> bool| {
        let named = found.iter().filter(|found| is_named(found));
        named.map(|found| found.quantity).collect()
    };
    Some(prose::text(&prose!('a "jobs.txt" {
        at_a_time: Vec<String> = at_a_time.collect(),
        places: &'a [Placement] = &jobs.places,
        pairs: usize = pairs.len(),
        found: String = table(rows),
        disturbed: Vec<&'static str> = named(BesideOthers::disturbs),
        unknown: Vec<&'static str> = named(|found| !found.is_harmless()),
    })))
}

pub(super) fn workers(summary: &Summary, options: &Options) -> Option<String> {
    let measured = summary.measured_cells();
    let cells: Vec<&Vec<Workers>> = measured.map(|cell| &cell.data.workers).collect();
    let variants = cells.iter().map(|cell| cell.len()).max().unwrap_or(0);
    let sum = |variant: usize| {
        let mut all = Workers::default();
        let by_cell = cells.iter().filter_map(|cell| cell.get(variant));
        by_cell.for_each(|workers| all.add(workers));
        all
    };
    let sums: Vec<Workers> = (0..variants).map(sum).collect();
    let baseline = sums.first()?;
    let percent_of_time = |ns: Option<u64>| percent(ns? as f64 / 1e6, baseline.sampled_ms);
    let threads = baseline.threads.iter().map(|row| {
        let thread = match row.worker {
            0 => "main".to_owned(),
            number => format!("worker {number}"),
        };
        Row::new("thread", thread)
            .with_optional("cores", row.cores.as_ref())
            .with("polls", row.polls)
            .with_optional("slow", percent(row.slow_polls as f64, row.polls as f64))
            .with_optional("CPU time, of a core", percent_of_time(row.cpu_ns))
            .with_optional(
                "ready but waiting for its core",
                percent_of_time(row.runqueue_ns),
            )
    });
    let late = |delays_ns: &Counts| {
        let late = delays_ns.above(options.figures.threshold_ns);
        percent(late as f64, delays_ns.total() as f64)
    };
    let p90_us = |delays_ns: &Counts| Workers::p90_us(delays_ns).map(number);
    let variants = summary.variants.iter().zip(&sums).map(|(variant, sums)| {
        Row::new("variant", quoted(&variant.label))
            .with_optional("any worker: late", late(&sums.any_worker_ns))
            .with_optional("p90, µs", p90_us(&sums.any_worker_ns))
            .with_optional("same worker: late", late(&sums.same_worker_ns))
            .with_optional("p90, µs", p90_us(&sums.same_worker_ns))
    });
    Some(prose::text(&prose!('a "workers.txt" {
        function: &'a str = summary.function(summary.identity.sites.connection_site()),
        threads: String = table(threads),
        threshold: String = options.threshold_text(),
        variants: String = table(variants),
    })))
}

fn percent(part: f64, whole: f64) -> Option<String> {
    Some(format!("{} %", number(stats::percent(part, whole)?)))
}
