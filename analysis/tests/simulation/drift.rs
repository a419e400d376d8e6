//! Simulated soaks with and without a drift: how often a drift is reported where there is none, and whether a
//! drift is found.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use run_format::SoakRow;
use statrs::distribution::{ContinuousCDF, Normal};

use super::Drifts;
use super::tests::rows_of;

const ROW_S: f64 = 10.0;

/// A soak in which every column is noise with this correlation between neighbouring rows.
struct SimulatedSoak {
    rows: usize,
    memory: f64,
    /// The growth of the number of tasks in each row.
    leak: f64,
}

impl SimulatedSoak {
    fn soak(&self, rng: &mut StdRng) -> Vec<SoakRow> {
        let noise = |level: f64, deviation: f64, rng: &mut StdRng| -> Vec<Option<f64>> {
            let remembered = remembering(self.memory, self.rows, rng).into_iter();
            let values = remembered.map(|value| Some((level + deviation * value).max(0.0).round()));
            values.collect()
        };
        let constant = |value: f64| vec![Some(value); self.rows];
        let times = (1..=self.rows).map(|row| Some(ROW_S * row as f64));
        let tasks = noise(40.0, 2.0, rng).into_iter().enumerate();
        let tasks =
            tasks.map(|(row, tasks)| tasks.map(|tasks| (tasks + self.leak * row as f64).floor()));
        rows_of([
            ("at_s", times.collect()),
            ("interval_s", constant(ROW_S)),
            ("tasks", tasks.collect()),
            ("connections", constant(18.0)),
            ("resident_bytes", noise(6e7, 3e5, rng)),
            ("connection_polls", constant(1e6)),
            ("connection_slow_polls", noise(1e5, 4e3, rng)),
            ("wakes", constant(1e4)),
            ("late_wakes", noise(800.0, 60.0, rng)),
            ("wake_p99_ns", noise(4e5, 5e4, rng)),
            ("requests", noise(5e4, 2e3, rng)),
        ])
    }

    /// The number of soaks in which any series is reported to drift.
    fn flagged(&self, soaks: usize, seed: u64) -> usize {
        let mut rng = StdRng::seed_from_u64(seed);
        let is_flagged = |_: &usize| Drifts::find(&self.soak(&mut rng)).drifting().count() > 0;
        (0..soaks).filter(is_flagged).count()
    }
}

/// Standard normal values, of which neighbours have the correlation `memory`.
fn remembering(memory: f64, count: usize, rng: &mut StdRng) -> Vec<f64> {
    let mut normal = || {
        let uniform: f64 = rng.random_range(1e-12..1.0);
        Normal::standard().inverse_cdf(uniform)
    };
    let mut value = normal();
    let mut next = || {
        value = memory * value + (1.0 - memory * memory).sqrt() * normal();
        value
    };
    (0..count).map(|_| next()).collect()
}

fn assert_seldom_flagged(rows: usize, soaks: usize) {
    for memory in [0.0, 0.5, 0.8] {
        let quiet = SimulatedSoak {
            rows,
            memory,
            leak: 0.0,
        };
        let flagged = quiet.flagged(soaks, 6438);
        println!("{rows} rows, memory {memory}: {flagged} of {soaks} soaks");
        assert!(
            20 * flagged <= soaks,
            "memory {memory}: {flagged} of {soaks}"
        );
    }
}

#[test]
fn correlated_noise_is_reported_as_drift_in_at_most_one_of_twenty_soaks() {
    assert_seldom_flagged(180, 200);
}

#[test]
#[ignore = "takes minutes"]
fn correlated_noise_is_seldom_reported_as_drift_in_long_soaks() {
    for (rows, soaks) in [(180, 1000), (540, 1000)] {
        assert_seldom_flagged(rows, soaks);
    }
}

#[test]
fn a_leak_of_one_task_a_minute_is_found_in_half_an_hour() {
    const PER_HOUR: f64 = 60.0;
    let leaking = SimulatedSoak {
        rows: 180,
        memory: 0.5,
        leak: ROW_S / 60.0,
    };
    const SOAKS: usize = 20;
    let mut rng = StdRng::seed_from_u64(60);
    let mut slopes = 0.0;
    for _ in 0..SOAKS {
        let drifts = Drifts::find(&leaking.soak(&mut rng));
        let first = drifts.drifting().next().expect("the leak");
        assert_eq!(first.series.name, "tasks");
        let trend = first.trend.expect("a trend");
        slopes += trend.slope;
        assert!(trend.interval.low > 0.0, "{trend:?}");
        let verdict = &drifts.sentences()[0];
        assert!(verdict.contains("Drift of tasks alive**: +"), "{verdict}");
    }
    let mean = slopes / SOAKS as f64;
    assert!((mean - PER_HOUR).abs() < 3.0, "{mean}");
}
