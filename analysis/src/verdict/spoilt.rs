//! What the machine spoilt.

use std::collections::BTreeMap;

use crate::measure::Metric;
use crate::stats;
use crate::summary::Summary;
use crate::text::number;

/// The reason why a metric says nothing about variants here, for those that are spoilt.
pub(super) fn of(summary: &Summary) -> BTreeMap<Metric, String> {
    let stolen = summary.checks().filter_map(|checks| checks.steal_percent);
    let Some((_, median, _)) = stats::spread(stolen) else {
        return BTreeMap::new();
    };
    let metrics = Metric::ALL.iter().copied();
    let reason = |metric: Metric| {
        let least = metric.info().spoilt_by_steal_percent;
        let least = least.filter(|least| median >= *least)?;
        let [median, least] = [median, least].map(number);
        let reason = format!(
            "the hypervisor gave {median} % of a core's time to others in the median cell, which is {least} % or more"
        );
        Some((metric, reason))
    };
    metrics.filter_map(reason).collect()
}
