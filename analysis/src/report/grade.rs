//! How quiet the machine was, in one sentence.

use run_format::tables::Disturbance;

use super::disturbed::of_sweep;
use crate::{
    measure::checks::Checks,
    summary::Summary,
    text::{count, joined, number},
    verdict::Verdict,
};

/// Below these shares of a core in the median cell, a machine is quiet, or nearly so. At the second, one wake-up of
/// ten that arrives at random finds its core gone.
const QUIET_PERCENT: f64 = 1.0;
const NEARLY_QUIET_PERCENT: f64 = 10.0;

/// None of a published table, which has no machine.
pub(crate) fn sentence(summary: &Summary, verdict: &Verdict) -> Option<String> {
    summary.identity.manifest.as_ref()?;
    let of = |check: fn(&Checks) -> Option<f64>| {
        let mut values: Vec<f64> = summary.checks().filter_map(check).collect();
        values.sort_by(f64::total_cmp);
        Some((*values.get(values.len() / 2)?, *values.last()?))
    };
    let (Some(stolen), Some(waiting)) = (of(|it| it.steal_percent), of(|it| it.waiting_percent))
    else {
        return Some(
            "The machine has no grade, because its kernel does not say what central's core lost to others.".to_owned()
                + &disturbed(summary),
        );
    };
    let grade = match stolen.0 + waiting.0 {
        lost if lost < QUIET_PERCENT => "quiet",
        lost if lost < NEARLY_QUIET_PERCENT => "nearly quiet",
        _ => "disturbed",
    };
    let percent =
        |(median, worst)| format!("{} % (worst cell {} %)", number(median), number(worst));
    let mut sentence = format!(
        "In the median cell the machine was {grade}: of the time of central's core, the hypervisor stole {}, and \
         central's worker waited for it {}.",
        percent(stolen),
        percent(waiting)
    );
    sentence += &disturbed(summary);
    if !verdict.spoilt.is_empty() {
        let spoilt = verdict.spoilt.keys().map(|metric| metric.info().words);
        sentence += &format!(" This makes unusable: {}.", joined(spoilt, ", "));
    }
    Some(sentence)
}

/// Which blocks were disturbed, and by what unless that is in the grade.
fn disturbed(summary: &Summary) -> String {
    let mut text = of_sweep(summary, |it| it != Disturbance::Waiting);
    let beside = summary.checks().map(|it| it.beside).sum();
    if beside > 0 {
        let runs = count(beside, "run");
        text += &format!(" During {runs} something else measured on this machine, too.");
    }
    text
}
