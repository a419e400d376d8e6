//! How quiet the machine was, in one sentence.

use crate::{
    measure::checks::Checks,
    summary::Summary,
    text::{count, number},
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
        let values = summary.measured().filter_map(|cell| check(&cell.checks));
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        Some((*values.get(values.len() / 2)?, *values.last()?))
    };
    let parts = [
        ("was stolen by the hypervisor", of(|it| it.steal_percent)),
        (
            "was spent waiting for another thread",
            of(|it| it.waiting_percent),
        ),
    ];
    let known: Vec<_> = parts
        .into_iter()
        .filter_map(|(what, it)| Some((what, it?)))
        .collect();
    if known.len() < parts.len() {
        return Some(
            "The machine has no grade, because its kernel does not say what central's core lost to others.".to_owned(),
        );
    }
    let lost: f64 = known.iter().map(|(_, (median, _))| median).sum();
    let grade = match lost {
        _ if lost < QUIET_PERCENT => "quiet",
        _ if lost < NEARLY_QUIET_PERCENT => "nearly quiet",
        _ => "disturbed",
    };
    let parts = known.iter().map(|(what, (median, worst))| {
        format!(
            "{} % {what} (worst cell {} %)",
            number(*median),
            number(*worst)
        )
    });
    let parts: Vec<String> = parts.collect();
    let mut sentence = format!(
        "The machine was {grade}: of the time of central's core in the median cell, {}.",
        parts.join(", and ")
    );
    let set_aside: usize = summary.measured().map(|cell| cell.set_aside).sum();
    if set_aside > 0 {
        let all = set_aside + summary.measured().map(|cell| cell.blocks).sum::<usize>();
        sentence += &format!(
            " {set_aside} of {} were disturbed and set aside.",
            count(all, "block")
        );
    }
    if !verdict.spoilt.is_empty() {
        let spoilt: Vec<&str> = verdict.spoilt.keys().map(|it| it.words()).collect();
        sentence += &format!(" This makes unusable: {}.", spoilt.join(", "));
    }
    Some(sentence)
}
