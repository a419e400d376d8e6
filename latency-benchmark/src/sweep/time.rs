//! Fits a sweep into a given time. Time that a run does not need goes to the runs after it.

use std::time::Duration;

use program::{Failure, in_words, reject};
use run_format::plan::block::longest_block;
use run_format::plan::run::fewest_blocks;
use run_format::{RunConfig, RunRow, SweepConfig, plan};

use super::schedule::{Launch, schedule};

/// Scales the time of the runs of a sweep so that all of them end within `time`.
pub(crate) fn fitted_into(config: SweepConfig, time: Duration) -> Result<SweepConfig, Failure> {
    let needed = needs(&config);
    let one_by_one = time.mul_f64(plan::cells::speedup(&config));
    let measuring = one_by_one.saturating_sub(needed.around);
    let scale = measuring.div_duration_f64(needed.measuring);
    if scale < needed.least {
        reject!(
            "--time {}: too short for the fewest blocks of each run (accepted: at least {})",
            in_words(time),
            in_words(shortest_time(&config))
        );
    }
    Ok(SweepConfig {
        time_scale: scale * config.time_scale,
        ..config
    })
}

pub(crate) fn shortest_time(config: &SweepConfig) -> Duration {
    let needed = needs(config);
    let all = needed.around + needed.measuring.mul_f64(needed.least);
    all.div_f64(plan::cells::speedup(config)) + Duration::from_secs(1)
}

/// The time that all runs of a sweep need one after the other. If the sweep has shards, it is the time of the longest shard.
#[derive(Default)]
struct Needs {
    /// The overhead and the warm-up.
    around: Duration,
    measuring: Duration,
    /// The least factor by which `measuring` may be scaled, so that no run has too few blocks.
    least: f64,
}

fn needs(config: &SweepConfig) -> Needs {
    // All shards have the same plan.
    let shards = match config.shard {
        Some(shard) => shard.all().map(Some).collect(),
        None => vec![None],
    };
    let mut most = Needs::default();
    for shard in shards {
        let part = SweepConfig {
            shard,
            ..config.clone()
        };
        let mut needs = Needs::default();
        for launch in schedule(&part) {
            let run = launch.config(config);
            // The plan of a run may lengthen its time for its fewest blocks. Here it is computed without that.
            let planned_ms = plan::run::measuring_ms(launch.cell.rtt_ms.ms());
            let planned = Duration::from_secs_f64(config.time_scale * planned_ms / 1e3);
            needs.around += launch.overhead() + Duration::from_millis(run.plan.warm_up_ms);
            needs.measuring += planned;
            let fewest = longest_block(&run) * fewest_blocks(config, launch.cell);
            needs.least = needs.least.max(fewest.div_duration_f64(planned));
        }
        most = Needs {
            around: most.around.max(needs.around),
            measuring: most.measuring.max(needs.measuring),
            least: most.least.max(needs.least),
        };
    }
    most
}

/// The time that runs were given and did not need.
pub(super) struct SavedTime {
    saved_ms: f64,
    /// The time that the plan gives to the runs to come.
    to_come_ms: f64,
}

impl SavedTime {
    pub(super) fn new<'a>(
        launches: impl Iterator<Item = &'a Launch>,
        config: &SweepConfig,
    ) -> SavedTime {
        let planned = launches.map(|launch| launch.config(config).plan.max_ms);
        SavedTime {
            saved_ms: 0.0,
            to_come_ms: planned.sum::<u64>() as f64,
        }
    }

    /// Gives a run its share of the saved time, unless the user set the time of a run.
    pub(super) fn spend(&mut self, run: &mut RunConfig, config: &SweepConfig) {
        const LEAST: f64 = 0.8;
        const MOST: f64 = 2.0;
        let planned_ms = run.plan.max_ms as f64;
        if config.max_cell_ms.is_none() && self.to_come_ms > 0.0 {
            let factor = (1.0 + self.saved_ms / self.to_come_ms).clamp(LEAST, MOST);
            let blocks = longest_block(run) * fewest_blocks(config, run.cell);
            run.plan.max_ms = ((factor * planned_ms) as u64).max(blocks.as_millis() as u64);
            self.saved_ms -= run.plan.max_ms as f64 - planned_ms;
        }
        self.skip(planned_ms);
    }

    /// Counts the planned time of a run as past. It does not go to other runs.
    pub(super) fn skip(&mut self, planned_ms: f64) {
        self.to_come_ms -= planned_ms;
    }

    /// Adds the time that a run was given and did not need. With disturbed blocks, a run may have needed more than it was
    /// given. A run that failed saves nothing.
    pub(super) fn save(&mut self, row: &RunRow) {
        let given_ms = row.config.plan.max_ms as f64;
        let around_ms = row.overhead_ms.unwrap_or(0) + row.config.plan.warm_up_ms;
        let measured_ms = row.took_ms.saturating_sub(around_ms) as f64;
        if row.is_measured() {
            self.saved_ms += given_ms - measured_ms;
        }
    }
}

#[cfg(test)]
mod tests {
    use run_format::Rtt;

    use super::*;
    use crate::sweep::fixture::fixture_config;

    /// Four cells of the committed sweep's kind.
    fn four_cells() -> SweepConfig {
        let mut config = fixture_config();
        let far = Rtt::from_ms(100.0).expect("a time");
        config.axes.rtt_ms.push(far);
        config
    }

    fn longest(config: &SweepConfig) -> Duration {
        let launches = schedule(config);
        launches.iter().map(|launch| launch.longest(config)).sum()
    }

    #[test]
    fn a_sweep_fits_into_its_time_or_is_refused() {
        for seconds in [40, 60, 3600] {
            let time = Duration::from_secs(seconds);
            let all = longest(&fitted_into(four_cells(), time).expect("it fits"));
            assert!(
                all <= time && all > time.mul_f64(0.98),
                "{all:?} of {time:?}"
            );
        }
        assert!(fitted_into(four_cells(), Duration::from_secs(5)).is_err());
    }

    #[test]
    fn what_a_run_saves_goes_to_the_next_ones() {
        let config = four_cells();
        let launches = schedule(&config);
        let mut saved = SavedTime::new(launches.iter(), &config);
        let mut given_ms = 0;
        for (number, launch) in launches.iter().enumerate() {
            let mut run = launch.config(&config);
            let planned_ms = run.plan.max_ms;
            saved.spend(&mut run, &config);
            assert!(run.plan.max_ms >= planned_ms && run.plan.max_ms <= 2 * planned_ms);
            // The first run ends early, the others take all they get.
            let took_ms = if number == 0 { 1000 } else { run.plan.max_ms };
            saved.saved_ms += (run.plan.max_ms - took_ms) as f64;
            given_ms += took_ms;
        }
        let planned = launches
            .iter()
            .map(|launch| launch.config(&config).plan.max_ms);
        let planned_ms: u64 = planned.sum();
        assert!(
            given_ms <= planned_ms && given_ms + 10 > planned_ms,
            "{given_ms} of {planned_ms}"
        );
    }
}
