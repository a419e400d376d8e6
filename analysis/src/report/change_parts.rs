//! The section that says why changes between programs vary, and how much longer launches would help.

use run_format::BASELINE;
use serde::Serialize;

use crate::measure::{Metric, MetricKey};
use crate::prose::{self, prose};
use crate::stats::{VarianceParts, launch_parts};
use crate::summary::Summary;
use crate::verdict::Verdict;

/// Says why changes between programs vary, and how much longer launches would help.
pub(super) fn text(summary: &Summary, verdict: &Verdict) -> String {
    prose::text(&prose!('a "change_parts.txt" {
        summary: &'a Summary = summary,
        all: Vec<ChangeParts> = parts(summary, verdict),
    }))
}

/// The parts of the variance of a change.
#[derive(Serialize)]
pub(crate) struct ChangeParts {
    metric: Metric,
    variant: usize,
    parts: VarianceParts,
    /// The factor by which intervals shrink if launches are twice as long.
    with_twice_the_time: f64,
}

/// The parts for some metrics and each variant. Empty unless the sweep compares programs.
pub(crate) fn parts(summary: &Summary, verdict: &Verdict) -> Vec<ChangeParts> {
    let variants = 1..summary.variants.len();
    let variants = variants.filter(|_| summary.identity.has_subjects());
    let metrics = [
        Metric::BeyondMsPerS,
        Metric::CpuUsPerRequest,
        Metric::RequestsPerS,
    ];
    let keys = metrics.into_iter().flat_map(|metric| {
        let key = MetricKey::new(verdict.site, metric);
        variants.clone().map(move |variant| (key, variant))
    });
    let parts = keys.filter_map(|(key, variant)| {
        let parts = variance_parts(summary, key, variant)?;
        Some(ChangeParts {
            metric: key.metric,
            variant,
            parts,
            with_twice_the_time: parts.with_twice_the_time(),
        })
    });
    parts.collect()
}

fn variance_parts(summary: &Summary, key: MetricKey, variant: usize) -> Option<VarianceParts> {
    let cells = summary.measured().filter_map(|cell| {
        let estimates = cell.estimates.get(&key)?;
        let [from, to] = [BASELINE, variant].map(|variant| estimates.get(variant)?.as_ref());
        Some((launch_parts(from?, to?)?, cell.measured.layouts.clone()))
    });
    VarianceParts::estimate(&cells.collect::<Vec<_>>())
}
