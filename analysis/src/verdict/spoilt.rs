//! What the machine spoilt.

use std::collections::BTreeMap;

use crate::{measure::metric::Metric, summary::Summary, text::number};

/// The reason why a metric says nothing about variants here, for those that are spoilt.
pub(super) fn of(summary: &Summary) -> BTreeMap<Metric, String> {
    let stolen = summary
        .measured()
        .filter_map(|it| it.measured.checks.steal_percent);
    let mut stolen: Vec<f64> = stolen.collect();
    stolen.sort_by(f64::total_cmp);
    let Some(median) = stolen.get(stolen.len() / 2) else {
        return BTreeMap::new();
    };
    let metrics = Metric::ALL.iter().copied();
    let reason = |metric: Metric| {
        let least = metric.info().spoilt_by_steal_percent?;
        if *median < least {
            return None;
        }
        let reason = format!(
            "the hypervisor gave {} % of a core's time to others in the median cell, which is {} % or more",
            number(*median),
            number(least)
        );
        Some((metric, reason))
    };
    metrics.filter_map(reason).collect()
}
