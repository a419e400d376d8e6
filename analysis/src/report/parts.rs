//! What the changes between programs vary by, and what more launches would buy.

use super::markdown::Document;
use crate::measure::{Metric, MetricKey};
use crate::prose::prose;
use crate::stats::{VarianceParts, launch_parts};
use crate::summary::Summary;
use crate::verdict::Verdict;

pub(crate) fn write(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    let parts = of(summary, verdict);
    if parts.is_empty() {
        return;
    }
    document.prose(&prose!('a "parts.txt" {
        summary: &'a Summary = summary,
        parts: Vec<OfVariant> = parts,
    }));
}

/// Of a metric and a variant, with the factor for twice the time.
type OfVariant = (Metric, usize, VarianceParts, f64);

/// Only of sweeps that compare programs.
pub(crate) fn of(summary: &Summary, verdict: &Verdict) -> Vec<OfVariant> {
    let variants = 1..summary.variants.len();
    let variants = variants.filter(|_| summary.identity.has_subjects());
    let metrics = [
        Metric::BeyondMsPerS,
        Metric::CpuUsPerRequest,
        Metric::RequestsPerS,
    ];
    let keys = metrics.into_iter().flat_map(|metric| {
        let what = MetricKey::new(verdict.site, metric);
        variants.clone().map(move |variant| (what, variant))
    });
    let parts = keys.filter_map(|(what, variant)| {
        let parts = of_variant(summary, what, variant)?;
        Some((what.metric, variant, parts, parts.with_twice_the_time()))
    });
    parts.collect()
}

fn of_variant(summary: &Summary, what: MetricKey, variant: usize) -> Option<VarianceParts> {
    let cells = summary.measured().filter_map(|cell| {
        let estimates = cell.estimates.get(&what)?;
        let [from, to] = [0, variant].map(|variant| estimates.get(variant)?.as_ref());
        Some((launch_parts(from?, to?)?, cell.measured.layouts.clone()))
    });
    VarianceParts::of(&cells.collect::<Vec<_>>())
}
