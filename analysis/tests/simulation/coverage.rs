//! The rate at which intervals contain the true value.

use std::ops::RangeInclusive;

use rand::SeedableRng;
use rand::rngs::StdRng;

use super::rivals::{self, Rival};
use super::stopping::blocks_until_precise;
use super::world::{Course, SimulatedVariant, World};
use super::worlds::{COMMON, RARE, RARER, ROUGH, beyond, shaped};
use crate::stats::quantile::tests::groups;
use crate::stats::{CellEstimate, RatioKind, RatioPart, paired_change, quantile, ratio};

const SEED: u64 = 20_251;
/// Cells in a full simulation.
const FULL: u32 = 2000;
const CONFIDENCE: f64 = 0.95;
const Q: f64 = 0.99;

#[rustfmt::skip]
const COLUMNS: [&str; 10] = [
    "value", "change", "relative", "A/A", "p99", "p99 change", "bootstrap value", "bootstrap change", "polls value",
    "polls change",
];
/// The number of columns that are intervals of the report. They come first.
const OURS: usize = 6;

/// The number of times that each column's interval contained the true value. A missing interval never does.
struct CoverageRow {
    world: World,
    held: [u32; COLUMNS.len()],
    times: u32,
}

impl CoverageRow {
    fn simulate(world: World, times: u32) -> CoverageRow {
        let mut rng = StdRng::seed_from_u64(SEED);
        let mut row = CoverageRow {
            world,
            held: Default::default(),
            times,
        };
        for _ in 0..times {
            let held = row.held.iter_mut().zip(look(&world, &mut rng));
            held.for_each(|(held, holds)| *held += u32::from(holds));
        }
        row
    }

    fn percent(&self, column: usize) -> f64 {
        100.0 * f64::from(self.held[column]) / f64::from(self.times)
    }

    fn ours(&self) -> impl Iterator<Item = (&str, f64)> {
        let percents = (0..OURS).map(|column| self.percent(column));
        COLUMNS.into_iter().zip(percents)
    }

    fn print(&self) {
        let World {
            name, runs, blocks, ..
        } = self.world;
        let cells: Vec<String> = (0..COLUMNS.len())
            .map(|column| format!("{:.1}", self.percent(column)))
            .collect();
        println!("| {name} | {runs} × {blocks} | {} |", cells.join(" | "));
    }
}

/// Simulates one cell. Returns for each column whether its interval contains the true value.
fn look(world: &World, rng: &mut StdRng) -> [bool; COLUMNS.len()] {
    let mut course = world.course(rng);
    let mut slices = [
        SimulatedVariant::Baseline,
        SimulatedVariant::Control,
        SimulatedVariant::Other,
    ]
    .map(|role| world.slow(&course, role, rng));
    if world.stops_early {
        let blocks = blocks_until_precise(&slices.each_ref().map(|runs| runs[0].clone()));
        slices
            .iter_mut()
            .flatten()
            .for_each(|run| run.truncate(blocks));
        course.stop_after(blocks);
    }
    let [level, changed, relative, same, rivals @ ..] = look_at_shares(world, &course, slices, rng);
    let [p99, p99_changed] = look_at_durations(world, &course, rng);
    let [a, b, c, d] = rivals;
    [level, changed, relative, same, p99, p99_changed, a, b, c, d]
}

fn look_at_shares(
    world: &World,
    course: &Course,
    [baseline, control, other]: [Vec<Vec<RatioPart>>; 3],
    rng: &mut StdRng,
) -> [bool; 8] {
    let boot = rivals::hierarchical_bootstrap(&baseline, &other, rng);
    let polls = rivals::single_polls(&baseline, &other);
    let [Some(baseline), Some(control), Some(other)] =
        [baseline, control, other].map(|slices| ratio(&slices, RatioKind::Share))
    else {
        unreachable!("there are polls in every slice")
    };
    let (level, changed) = (world.true_share(course), world.true_change(course));
    let of_rival = |rival: Rival| [rival.level.covers(level), rival.change.covers(changed)];
    let ([a, b], [c, d]) = (of_rival(boot), of_rival(polls));
    let of_level = level_holds(&baseline, level);
    let of_change = change_holds(&baseline, &other, changed);
    let relative = paired_change(&baseline, &other).and_then(|change| change.relative);
    let of_relative =
        relative.is_some_and(|relative| relative.interval(CONFIDENCE).covers(world.ratio - 1.0));
    [
        of_level,
        of_change,
        of_relative,
        change_holds(&baseline, &control, 0.0),
        a,
        b,
        c,
        d,
    ]
}

fn look_at_durations(world: &World, course: &Course, rng: &mut StdRng) -> [bool; 2] {
    let [baseline, other] = [SimulatedVariant::Baseline, SimulatedVariant::Other].map(|role| {
        let slices = world.durations(course, role, rng);
        quantile(&groups(&slices), Q).expect("some durations lie beyond")
    });
    let (p99, changed) = (
        world.true_quantile(Q, course),
        world.true_quantile_change(Q, course),
    );
    [
        level_holds(&baseline, p99),
        change_holds(&baseline, &other, changed),
    ]
}

fn level_holds(estimate: &CellEstimate, truth: f64) -> bool {
    estimate
        .interval(CONFIDENCE)
        .is_some_and(|interval| interval.covers(truth))
}

fn change_holds(baseline: &CellEstimate, other: &CellEstimate, truth: f64) -> bool {
    paired_change(baseline, other)
        .is_some_and(|change| change.difference.interval(CONFIDENCE).covers(truth))
}

fn simulate(worlds: &[World], times: u32) -> Vec<CoverageRow> {
    println!(
        "\n| {times} simulated cells | runs × blocks | {} |",
        COLUMNS.join(" | ")
    );
    println!("|{}", "---|".repeat(COLUMNS.len() + 2));
    let row = |world: &World| {
        let row = CoverageRow::simulate(*world, times);
        row.print();
        row
    };
    worlds.iter().map(row).collect()
}

/// The percentages that are accepted. They are whole numbers, because the simulation is not more precise. `METHODS.md`
/// explains every range that is not 93 to 97.
fn promised(world: &World) -> RangeInclusive<f64> {
    // Such a world has only a handful of slow polls.
    let is_rare = world.share < 0.002;
    93.0..=if is_rare { 98.0 } else { 97.0 }
}

#[test]
#[ignore = "takes minutes"]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let worlds = [COMMON, ROUGH, RARE, RARER];
    let rows = simulate(&shaped(&worlds, &[(1, 6), (1, 12), (3, 6), (3, 12)]), FULL);
    for row in rows {
        for (column, percent) in row.ours() {
            let is_kept = promised(&row.world).contains(&percent.round());
            assert!(is_kept, "{column}: {percent} {:?}", row.world);
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn further_kinds_of_cells_are_printed() {
    simulate(&beyond(), FULL);
}

/// With 150 cells, four standard errors of 95 % are 7 %.
#[test]
fn in_a_few_simulations_intervals_hold_the_truth_about_as_often_as_they_say() {
    for row in simulate(&shaped(&[ROUGH, RARER], &[(1, 6), (3, 6)]), 150) {
        for (column, percent) in row.ours() {
            assert!(percent >= 88.0, "{column}: {percent} {:?}", row.world);
        }
    }
}
