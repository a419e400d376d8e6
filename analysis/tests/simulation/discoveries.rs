//! The rate at which whole sweeps find changes that exist, and changes that do not.

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::world::{SimulatedVariant, World};
use super::worlds::ROUGH;
use crate::stats::{
    Change, RatioKind, Uncertain, adjusted_p_values, calibrate, is_resolved, paired_change, ratio,
};

const SEED: u64 = 20_252;
const CELLS: usize = 12;

const WORLD: World = World {
    name: "13 %",
    blocks: 12,
    noise: 0.15,
    timed: 0,
    ..ROUGH
};

/// Counts over many sweeps in which some cells are changed.
#[derive(Default)]
struct Discoveries {
    sweeps: u32,
    /// The number of sweeps with any false alarm.
    alarmed: u32,
    unchanged: u32,
    false_alarms: u32,
    changed: u32,
    discoveries: u32,
    /// The number of A/A controls that were flagged, each by itself, before and after calibration.
    controls: [usize; 2],
}

impl Discoveries {
    fn over(world: World, changed: usize, sweeps: u32) -> Discoveries {
        let mut rng = StdRng::seed_from_u64(SEED);
        let mut found = Discoveries::default();
        for _ in 0..sweeps {
            found.add_sweep(world, changed, &mut rng);
        }
        found.print(world, changed);
        found
    }

    fn add_sweep(&mut self, world: World, changed: usize, rng: &mut StdRng) {
        let cell = |cell: usize| World {
            ratio: if cell < changed { world.ratio } else { 1.0 },
            ..world
        };
        let (controls, others): (Vec<Change>, Vec<Change>) =
            (0..CELLS).map(|number| look(&cell(number), rng)).unzip();
        let controls: Vec<Uncertain> = controls.iter().map(|change| change.difference).collect();
        let calibration = calibrate(&controls);
        let p = |change: Change| {
            Some(
                change
                    .inflated(calibration.inflation())
                    .difference
                    .p_value(),
            )
        };
        let adjusted = adjusted_p_values(&others.into_iter().map(p).collect::<Vec<_>>());
        let resolved: Vec<bool> = adjusted.into_iter().flatten().map(is_resolved).collect();
        let count = |cells: &[bool]| cells.iter().filter(|resolved| **resolved).count() as u32;
        let (discoveries, false_alarms) =
            (count(&resolved[..changed]), count(&resolved[changed..]));
        self.sweeps += 1;
        self.alarmed += u32::from(false_alarms > 0);
        self.unchanged += (CELLS - changed) as u32;
        self.false_alarms += false_alarms;
        self.changed += changed as u32;
        self.discoveries += discoveries;
        self.controls[0] += calibration.flagged_before;
        self.controls[1] += calibration.flagged_after;
    }

    fn print(&self, world: World, changed: usize) {
        let World {
            name, runs, blocks, ..
        } = world;
        let controls = self
            .controls
            .map(|flagged| percent(flagged as u32, self.sweeps * CELLS as u32));
        println!(
            "| {name}, {changed} of {CELLS} cells changed | {runs} × {blocks} | {} | {} | {} | {} | {} |",
            controls[0],
            controls[1],
            percent(self.false_alarms, self.unchanged),
            percent(self.alarmed, self.sweeps),
            percent(self.discoveries, self.changed),
        );
    }
}

/// Simulates one cell. Returns the changes of the control and of the other variant.
fn look(world: &World, rng: &mut StdRng) -> (Change, Change) {
    let course = world.course(rng);
    let mut estimate =
        |role| ratio(&world.slow(&course, role, rng), RatioKind::Share).expect("polls");
    let baseline = estimate(SimulatedVariant::Baseline);
    let [control, other] = [SimulatedVariant::Control, SimulatedVariant::Other]
        .map(|role| paired_change(&baseline, &estimate(role)).expect("the same blocks"));
    (control, other)
}

fn percent(count: u32, all: u32) -> String {
    match all {
        0 => "–".to_owned(),
        all => format!("{:.1}", 100.0 * f64::from(count) / f64::from(all)),
    }
}

fn print_head(sweeps: u32) {
    println!(
        "\n| {sweeps} simulated sweeps | runs × blocks | A/A controls flagged | after calibration | \
         unchanged cells resolved | sweeps with any such | changed cells resolved |"
    );
    println!("|{}", "---|".repeat(7));
}

fn rare(world: World) -> World {
    World {
        name: "0.05 %",
        share: 0.0005,
        ..world
    }
}

/// A world with more noise, in which slices do not resemble their neighbours.
fn noisy(world: World) -> World {
    World {
        name: "13 %, noise 20 % by slice",
        noise: 0.2,
        correlation: 0.0,
        ..world
    }
}

#[test]
#[ignore = "takes minutes"]
fn unchanged_cells_are_seldom_resolved_and_changes_of_three_points_nearly_always() {
    print_head(500);
    for (runs, blocks) in [(1, 6), (1, 12), (3, 12)] {
        let world = World {
            runs,
            blocks,
            ..WORLD
        };
        for world in [world, rare(world)] {
            let found = Discoveries::over(world, 0, 500);
            assert!(found.false_alarms * 20 <= found.unchanged);
            assert!(found.alarmed * 20 <= found.sweeps);
        }
    }
    for changed in [1, CELLS / 2, CELLS] {
        let found = Discoveries::over(WORLD, changed, 500);
        assert!(found.discoveries * 10 >= found.changed * 9);
    }
    // With this much noise a change that is the only one of its sweep is not always found.
    for changed in [1, CELLS / 2] {
        Discoveries::over(noisy(WORLD), changed, 500);
    }
}

/// The 20 sweeps have 240 cells, of which 5 % are 12. Of 120 changed cells 90 % are 108.
#[test]
fn in_a_few_sweeps_few_unchanged_and_most_changed_cells_are_resolved() {
    print_head(20);
    assert!(Discoveries::over(WORLD, 0, 20).false_alarms <= 12);
    assert!(Discoveries::over(rare(World { runs: 1, ..WORLD }), 0, 20).false_alarms <= 12);
    assert!(Discoveries::over(WORLD, CELLS / 2, 20).discoveries >= 108);
}
