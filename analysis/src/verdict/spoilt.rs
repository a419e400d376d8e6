//! What the machine spoilt.

use std::collections::BTreeMap;

use crate::{measure::metric::Metric, summary::Summary, text::number};

/// From this share of a core on, stolen time lasts longer than a wake-up waits. It changes one wake-up of a hundred
/// before it changes one of ten.
const LIMITS: [(Metric, f64); 2] = [(Metric::CotenantP90Us, 10.0), (Metric::CotenantP99Us, 1.0)];

/// The reason why a metric says nothing about variants here, for those that are spoilt.
pub(super) fn of(summary: &Summary) -> BTreeMap<Metric, String> {
    let stolen = summary.measured().filter_map(|it| it.checks.steal_percent);
    let mut stolen: Vec<f64> = stolen.collect();
    stolen.sort_by(f64::total_cmp);
    let Some(median) = stolen.get(stolen.len() / 2) else {
        return BTreeMap::new();
    };
    let spoilt = LIMITS.into_iter().filter(|(_, least)| median >= least);
    let reason = |(metric, least): (Metric, f64)| {
        let reason = format!(
            "the hypervisor gave {} % of a core's time to others in the median cell, which is {} % or more",
            number(*median),
            number(least)
        );
        (metric, reason)
    };
    spoilt.map(reason).collect()
}
