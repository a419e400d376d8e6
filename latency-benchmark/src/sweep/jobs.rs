//! Measures launches one after the other, or in parallel parts, each of which has cores of its own. Some launches are also
//! measured alone: half of them before all others and half after, so that a drift of the machine's speed cancels out.

use std::slice;

use anyhow::Result;
use program::in_threads;
use run_format::{Placement, SweepConfig};

use super::running::RunningSweep;
use super::schedule::Launch;

/// The launches that are measured at the same time. Those of several subjects take turns.
type Unit<'a> = &'a [Launch];

fn units(launches: &[Launch]) -> Vec<Unit<'_>> {
    let is_same =
        |a: &Launch, b: &Launch| a.subject.is_some() && (a.cell, a.run) == (b.cell, b.run);
    launches.chunk_by(is_same).collect()
}

/// The launches that are also measured alone, evenly spread, with the placements of their parts.
pub(super) fn alone<'a>(
    config: &'a SweepConfig,
    launches: &[Launch],
) -> Vec<(Launch, &'a Placement)> {
    let Some(jobs) = &config.jobs else {
        return Vec::new();
    };
    let all = units(launches);
    let count = jobs.alone.min(all.len());
    let numbers = (0..count).map(|index| index * all.len() / count);
    let launch = |number: usize| Launch {
        is_alone: true,
        ..all[number][0]
    };
    let placement = |number: usize| &jobs.places[number % jobs.places.len()];
    let chosen = numbers.map(|number| (launch(number), placement(number)));
    chosen.collect()
}

/// Returns whether all launches were measured. They are unless somebody asked for an end.
pub(super) fn run(
    sweep: &RunningSweep<'_>,
    launches: &[Launch],
    alone: &[(Launch, &Placement)],
) -> Result<bool> {
    let config = sweep.config;
    let single = [config.lab.placement.clone()];
    let jobs = config.jobs.as_ref();
    let placements = jobs.map_or(&single[..], |jobs| &jobs.places);
    let all = units(launches);
    let measure_part = |(number, placement)| {
        let part = all.iter().skip(number).step_by(placements.len());
        measure_all(sweep, part.map(|unit| (*unit, placement)))
    };
    let measure_alone = |first: usize| {
        let half = alone.iter().skip(first).step_by(2);
        let units = half.map(|(launch, placement)| (slice::from_ref(launch), *placement));
        measure_all(sweep, units)
    };
    let measure_parts = || in_threads(placements.iter().enumerate(), measure_part);
    Ok(measure_alone(0)? && !measure_parts()?.contains(&false) && measure_alone(1)?)
}

fn measure_all<'a>(
    sweep: &RunningSweep<'_>,
    units: impl Iterator<Item = (Unit<'a>, &'a Placement)>,
) -> Result<bool> {
    for (unit, placement) in units {
        if !sweep.measure(unit, placement)? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use run_format::{SweepConfig, plan};

    use super::*;
    use crate::sweep::args::default_axes;
    use crate::sweep::fixture::fixture_config;
    use crate::sweep::schedule::schedule;

    #[test]
    fn the_time_with_many_jobs_is_the_documented_one() {
        let config = SweepConfig {
            axes: default_axes(false, 0),
            repeat: 3,
            ..fixture_config()
        };
        let launches = schedule(&config);
        let minutes = |jobs: usize| {
            let placement = config.lab.placement.clone();
            let several = plan::cells::jobs_in(vec![placement; jobs], &config);
            let config = SweepConfig {
                jobs: (jobs > 1).then_some(several),
                ..config.clone()
            };
            let longest = |launch: &Launch| launch.longest(&config);
            let part = |first| launches.iter().skip(first).step_by(jobs).map(longest).sum();
            let parts: Option<Duration> = (0..jobs).map(part).max();
            let also_alone = alone(&config, &launches);
            let lasts = also_alone.iter().map(|(launch, _)| longest(launch));
            ((lasts.sum::<Duration>() + parts.expect("a job")).as_secs_f64() / 60.0).round()
        };
        let text = format!(
            "{} minutes with one job, and {} with eight",
            minutes(1),
            minutes(8)
        );
        let methods = include_str!("../../../analysis/METHODS.md");
        let words: Vec<&str> = methods.split_whitespace().collect();
        assert!(words.join(" ").contains(&text), "{text}");
    }
}
