//! The table of what QUIC counted.

use run_format::BASELINE;

use super::markdown::{Row, table};
use crate::metrics::{Metric, MetricKey};
use crate::prose::{self, prose};
use crate::stats::{self, CONFIDENCE, Uncertain};
use crate::summary::{CellSummary, Summary};
use crate::text::{self, quoted};
use crate::verdict::Verdict;

pub(super) fn text(summary: &Summary, verdict: &Verdict) -> String {
    let is_shown =
        |metric: &Metric| metric.is_of_quic() && summary.has(MetricKey::new(verdict.site, *metric));
    let metrics = Metric::ALL.iter().copied().filter(is_shown);
    let rows = metrics.map(|metric| {
        let key = MetricKey::new(verdict.site, metric);
        let info = metric.info();
        let level = |cell: &CellSummary| cell.figure(key, BASELINE)?.estimate.level;
        let levels: Vec<Uncertain> = summary.measured_cells().filter_map(level).collect();
        let in_words =
            |mean: Uncertain| text::level(mean.value, info.unit, mean.interval(CONFIDENCE));
        let before = stats::mean_over_cells(&levels).map(in_words);
        let baseline = quoted(&summary.variants[BASELINE].label);
        let row = Row::new("metric", info.words).with_optional(baseline, before);
        verdict.candidates.iter().fold(row, |row, candidate| {
            let mean = verdict.mean_change(summary, candidate.variant, metric);
            let change = mean.map(|mean| text::mean_change(&mean, metric.unit_of_mean_change()));
            row.with_optional(quoted(&candidate.label), change)
        })
    });
    prose::text(&prose!("quic.txt" { table: String = table(rows) }))
}
