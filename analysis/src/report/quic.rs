//! What the connections of QUIC counted.

use super::markdown::{Document, Row, quoted};
use crate::{
    measure::metric::{Metric, MetricKey},
    stats::{self, Uncertain},
    summary::{CONFIDENCE, CellSummary, Summary},
    text,
    verdict::{Verdict, unit},
};

pub(super) fn write(document: &mut Document, summary: &Summary, verdict: &Verdict) {
    let of_quic =
        |metric: &Metric| metric.is_of_quic() && summary.has(MetricKey::new(verdict.site, *metric));
    let metrics: Vec<Metric> = Metric::ALL.iter().copied().filter(of_quic).collect();
    if metrics.is_empty() {
        return;
    }
    let rows = metrics.into_iter().map(|metric| {
        let what = MetricKey::new(verdict.site, metric);
        let level = |cell: &CellSummary| cell.figure(what, 0)?.estimate.level;
        let levels: Vec<Uncertain> = summary.measured().filter_map(level).collect();
        let level = stats::mean_over_cells(&levels);
        let level =
            level.map(|it| text::level(it.value, metric.info().unit, it.interval(CONFIDENCE)));
        let mut row = Row::default().with("metric", metric.info().words);
        if let Some(baseline) = summary.variants.first() {
            row = row.with_any(quoted(&baseline.label), level);
        }
        for candidate in &verdict.candidates {
            let change = candidate.details.get(&metric);
            let change = change.map(|it| text::mean_change(it, unit(metric)));
            row = row.with_any(quoted(&candidate.label), change);
        }
        row
    });
    document.details("What QUIC counted", |document| {
        document.paragraph(
            "By central's connections and sockets. First the mean over cells without a budget, then what each budget \
             changes. Each interval is 95 % by itself. A dash is a change that is not known, as that of losses where nothing \
             is lost.",
        );
        document.table(rows);
    });
}
