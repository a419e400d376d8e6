//! Whether a high share of slow polls is a few rare polls.

use run_format::{Site, grid::Cell};

use crate::{
    measure::metric::{Metric, MetricKey},
    summary::Summary,
    text::number,
};

/// The cells that a reader of a heatmap looks at first.
const HIGHEST: usize = 5;

/// A lower share does not look alarming.
const HIGH_PERCENT: f64 = 10.0;

/// One percent of the worker's time, which cannot delay much else.
const LITTLE_MS_PER_S: f64 = 10.0;

pub(super) fn sentence(summary: &Summary, site: Site) -> Option<String> {
    let cells = summary.measured().filter_map(|cell| {
        let value = |metric| cell.value(MetricKey::new(site, metric), 0);
        Some((
            cell.measured.cell,
            value(Metric::SlowPercent)?,
            value(Metric::SlowMsPerS)?,
        ))
    });
    let (cell, percent, ms) = rare(cells.collect())?;
    Some(format!(
        "In the baseline, {} % of the polls of `{}` in the cell {cell} are slow, but they take only {} ms of each second, \
         because polls are rare there.",
        number(percent),
        summary.function(site),
        number(ms)
    ))
}

/// Of the cells with the highest shares, the first whose slow polls take little time.
fn rare(mut cells: Vec<(Cell, f64, f64)>) -> Option<(Cell, f64, f64)> {
    cells.sort_by(|one, other| other.1.total_cmp(&one.1));
    cells.truncate(HIGHEST);
    let is_rare =
        |&(_, percent, ms): &(_, f64, f64)| percent >= HIGH_PERCENT && ms < LITTLE_MS_PER_S;
    cells.into_iter().find(is_rare)
}

#[cfg(test)]
mod tests {
    use run_format::{network::Rtt, payload::Payload};

    use super::*;

    fn percent_of_rare(cells: &[(f64, f64)]) -> Option<f64> {
        let cell = Cell {
            peers: 1,
            rtt_ms: Rtt::ZERO,
            payload_bytes: "64KiB".parse::<Payload>().expect("a size"),
        };
        let cells = cells.iter().map(|&(percent, ms)| (cell, percent, ms));
        rare(cells.collect()).map(|it| it.1)
    }

    #[test]
    fn a_high_share_of_little_time_is_named() {
        assert_eq!(
            percent_of_rare(&[(20.0, 9.0), (30.0, 9.0), (50.0, 80.0)]),
            Some(30.0)
        );
        assert_eq!(
            percent_of_rare(&[(9.0, 1.0), (50.0, 80.0)]),
            None,
            "not high"
        );
        let high = [(50.0, 80.0); HIGHEST];
        assert_eq!(
            percent_of_rare(&[&high[..], &[(40.0, 1.0)]].concat()),
            None,
            "not among the highest"
        );
    }
}
