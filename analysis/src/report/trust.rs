//! The section that says whether the figures can be trusted: checks of the probe, the network and the machine, and how often
//! noise was taken for a change.

use std::collections::BTreeSet;

use super::markdown::{Row, table};
use crate::metrics::{Checks, MetricKey};
use crate::prose::{self, prose};
use crate::stats::{self, Spread, percent};
use crate::summary::{ResolvedCells, Summary};
use crate::text::{self, number, quoted, with_unit};
use crate::verdict::{Verdict, words};

struct CheckLimit {
    what: &'static str,
    unit: &'static str,
    most: f64,
    value: fn(&Checks) -> Option<f64>,
}

#[rustfmt::skip]
const LIMITS: [CheckLimit; 14] = [
    CheckLimit { what: "records lost to full buffers", unit: "", most: 0.0, value: |checks| Some(checks.lost as f64) },
    CheckLimit { what: "probe cost, of central's CPU time", unit: "%", most: 3.0, value: |checks| checks.probe_percent },
    CheckLimit { what: "task polls, probe compared with `tokio_metrics`", unit: "%", most: 2.0, value: |checks| checks.monitor_polls_percent },
    CheckLimit { what: "slow task polls (over 50 µs), same comparison", unit: "%", most: 10.0, value: |checks| checks.monitor_slow_percent },
    CheckLimit { what: "time of task polls, same comparison", unit: "%", most: 5.0, value: |checks| checks.monitor_time_percent },
    CheckLimit { what: "time of central's core stolen by the hypervisor", unit: "%", most: f64::INFINITY, value: |checks| checks.steal_percent },
    CheckLimit { what: "central's worker ready but waiting for its core", unit: "%", most: f64::INFINITY, value: |checks| checks.waiting_percent },
    CheckLimit { what: "wall-clock time beyond 50 µs that other threads or the hypervisor caused", unit: "%", most: f64::INFINITY, value: |checks| checks.lost_beyond_percent },
    CheckLimit { what: "CPU time of other processes, of one core", unit: "%", most: 5.0, value: |checks| checks.other_percent },
    CheckLimit { what: "involuntary context switches of central's worker per second", unit: "", most: 1000.0, value: |checks| checks.involuntary_switches_per_s },
    CheckLimit { what: "time in the kernel, of central's CPU time", unit: "%", most: f64::INFINITY, value: |checks| checks.kernel_percent },
    CheckLimit { what: "time of a fixed piece of work on central's core, median over blocks", unit: "µs", most: f64::INFINITY, value: |checks| checks.work_us.map(|spread| spread.upper_median) },
    CheckLimit { what: "packets dropped by queues", unit: "", most: 0.0, value: |checks| checks.drops.map(|drops| drops as f64) },
    CheckLimit { what: "TCP segments retransmitted", unit: "", most: 100.0, value: |checks| checks.retransmits.map(|segments| segments as f64) },
];

impl CheckLimit {
    fn show(&self, value: f64) -> String {
        with_unit(number(value), self.unit)
    }

    fn limit(&self) -> Option<String> {
        self.most.is_finite().then(|| self.show(self.most))
    }

    fn is_beyond(&self, value: f64) -> bool {
        value.abs() > self.most
    }
}

pub(crate) fn limits() -> Vec<(&'static str, Option<String>)> {
    LIMITS
        .iter()
        .map(|check| (check.what, check.limit()))
        .collect()
}

/// The checks of one cell that have a value: the number of the check, the value, and whether it is beyond the limit.
pub(crate) fn cell_checks(checks: &Checks) -> Vec<(usize, String, bool)> {
    let known = LIMITS.iter().enumerate().filter_map(|(at, limit)| {
        let value = (limit.value)(checks)?;
        Some((at, limit.show(value), limit.is_beyond(value)))
    });
    known.collect()
}

pub(super) fn text(summary: &Summary, verdict: &Verdict) -> String {
    let data = || summary.measured_cells().map(|cell| &cell.data);
    let round_trips = summary.axes.rtt_ms.iter().filter_map(|rtt_ms| {
        let cells = data().filter(|cell| cell.cell.rtt_ms == *rtt_ms);
        let [shortest, longest] = range(cells.filter_map(|cell| cell.checks.rtt_ms))?;
        let (shortest, longest) = (number(shortest), number(longest));
        Some(format!("{rtt_ms} → {shortest}–{longest}"))
    });
    prose::text(&prose!('a "trust.txt" {
        summary: &'a Summary = summary,
        checks: String = table(checks(summary)),
        work_us: Option<[f64; 2]> = range(data().filter_map(|cell| cell.checks.work_us)),
        round_trips: Vec<String> = round_trips.collect(),
        calibration: Option<String> = calibration(summary, verdict),
        carry_over: Option<(&'a str, String)> = carry_over(summary, verdict),
    }))
}

fn checks(summary: &Summary) -> impl Iterator<Item = Row> {
    // An application never records most of these, so only a sweep shows a check that was not recorded.
    let is_shown = move |check: &&CheckLimit| {
        summary.identity.application.is_none()
            || summary
                .checks()
                .any(|checks| (check.value)(checks).is_some())
    };
    LIMITS.iter().filter(is_shown).map(move |check| {
        let mut values: Vec<f64> = summary.checks().filter_map(check.value).collect();
        values.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let show =
            |value: Option<&f64>| value.map_or_else(words::absent, |value| check.show(*value));
        let beyond = values.iter().filter(|value| check.is_beyond(**value));
        Row::new("check", check.what)
            .with("median cell", show(values.get(values.len() / 2)))
            .with("worst cell", show(values.last()))
            .with_optional("limit", check.limit())
            .with_optional("cells beyond it", check.limit().map(|_| beyond.count()))
    })
}

/// The least and the greatest value of all cells.
fn range(cells: impl Iterator<Item = Spread>) -> Option<[f64; 2]> {
    let ends = cells.map(|cell| [cell.least, cell.greatest]);
    ends.reduce(|all, cell| [all[0].min(cell[0]), all[1].max(cell[1])])
}

fn calibration(summary: &Summary, verdict: &Verdict) -> Option<String> {
    let (control, _) = summary.control()?;
    let row = |key: MetricKey| {
        let calibration = summary.calibrations.get(&key)?;
        let pairs = calibration.pairs;
        let mut judged = verdict.quantities.iter();
        if pairs == 0 || judged.all(|quantity| quantity.metric != key.metric) {
            return None;
        }
        let factor = calibration.factor.map(|factor| format!("× {factor:.2}"));
        let factor = factor.as_deref().unwrap_or("not calibrated");
        let share = |flagged: usize| {
            let share = percent(flagged as f64, pairs as f64).unwrap_or(0.0);
            format!("{flagged} of {pairs} ({share:.1} %)")
        };
        let after = match share(calibration.flagged_after) {
            too_often if 20 * calibration.flagged_after > pairs => format!("**{too_often}**"),
            share => share,
        };
        let ResolvedCells { lower, higher } = summary.resolved(key, control);
        let row = Row::new("metric", key.metric.info().words)
            .with("interval factor", factor)
            .with("flagged before", share(calibration.flagged_before))
            .with("flagged after", after)
            .with("control resolved", lower + higher);
        Some(row)
    };
    let keys = MetricKey::all(&[verdict.site]).into_iter();
    Some(table(keys.filter_map(row)))
}

/// The effect of a variant by the time since its turn began. It differs if the variant before left something behind.
fn carry_over<'a>(summary: &Summary, verdict: &'a Verdict) -> Option<(&'a str, String)> {
    let mut candidates = verdict
        .candidates
        .iter()
        .filter(|candidate| !candidate.never_fired);
    let candidate = verdict.best().or_else(|| candidates.next())?;
    let cells = || summary.measured_cells().map(|cell| &cell.data);
    let keys = cells().flat_map(|cell| cell.after_switch.keys().copied());
    let ranges: BTreeSet<u64> = keys.collect();
    let rows = summary.axes.rtt_ms.iter().map(|rtt_ms| {
        let mut row = match &summary.identity.application {
            Some(application) => Row::new("application", quoted(&application.file.program)),
            None => Row::new("RTT", format!("{rtt_ms} ms")),
        };
        for from_ms in &ranges {
            let title = match ranges.range(from_ms + 1..).next() {
                Some(to_ms) => format!("{from_ms}–{to_ms} ms"),
                None => format!("from {from_ms} ms"),
            };
            let changes = cells()
                .filter(|cell| cell.cell.rtt_ms == *rtt_ms)
                .filter_map(|cell| {
                    let change = *cell.after_switch.get(from_ms)?.get(candidate.variant)?;
                    Some(change?.times(100.0))
                });
            let mean = stats::mean_over_cells(&changes.collect::<Vec<_>>());
            row = row.with_optional(title, mean.map(|mean| text::uncertain(&mean, "pp")));
        }
        row
    });
    (!ranges.is_empty()).then(|| (&*candidate.label, table(rows)))
}
