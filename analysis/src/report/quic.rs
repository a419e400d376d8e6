//! What the connections of QUIC counted.

use super::markdown::{Document, or_dash, quoted};
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
    let mut head = vec!["metric".to_owned()];
    let variants = summary.variants.iter().take(1);
    head.extend(variants.map(|it| quoted(&it.label)));
    head.extend(verdict.candidates.iter().map(|it| quoted(&it.label)));
    let row = |metric: Metric| {
        let what = MetricKey::new(verdict.site, metric);
        let level = |cell: &CellSummary| cell.figure(what, 0)?.estimate.level;
        let levels: Vec<Uncertain> = summary.measured().filter_map(level).collect();
        let level = stats::mean_over_cells(&levels);
        let level =
            level.map(|it| text::level(it.value, metric.info().unit, it.interval(CONFIDENCE)));
        let changes = verdict.candidates.iter().map(|candidate| {
            let change = candidate.details.get(&metric)?;
            let (value, interval) = (change.value(), change.interval(CONFIDENCE));
            Some(text::change(value, unit(metric), interval))
        });
        let fields = [Some(metric.info().words.to_owned()), level].into_iter();
        fields.chain(changes).map(or_dash).collect()
    };
    document.details("What QUIC counted", |document| {
        document.paragraph(
            "By central's connections and sockets. First the mean over cells without a budget, then what each budget \
             changes. Each interval is 95 % by itself. A dash is a change that is not known, as that of losses where nothing \
             is lost.",
        );
        document.table(&head.join(" | "), metrics.into_iter().map(row));
    });
}
