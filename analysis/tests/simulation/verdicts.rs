//! The rate at which verdicts on whole sweeps are wrong, and at which they name the best candidate.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use run_format::{Axes, Budgets, Cell, Payload, Rtt, Site};

use super::draw;
use crate::load::{ComparedRole, ComparedVariant};
use crate::metrics::{ByVariant, CellData, Estimates, Metric, MetricKey, Quantity};
use crate::options::Options;
use crate::site::SiteNames;
use crate::stats::{CellEstimate, MeanChange, RatioKind, RatioPart, paired_change, ratio};
use crate::summary::{CellSummary, Identity, Summary, calibrate_changes};
use crate::verdict::{Outcome, QuantityChange, Verdict};

const SEED: u64 = 20_254;
const CANDIDATES: usize = 4;
/// The number of polls in every slice, and the baseline of a share.
const POLLS: f64 = 3000.0;
const SHARE: f64 = 0.2;

/// Sweeps of one kind.
#[derive(Clone, Copy)]
pub(super) struct Sweeps {
    pub(super) cells: usize,
    pub(super) blocks: usize,
    /// The relative standard deviation of a slice in a typical cell.
    pub(super) noise: f64,
    /// The factor by which this standard deviation typically differs between cells.
    pub(super) unlike: f64,
    /// The standard deviation of a candidate's true changes from cell to cell, in margins.
    pub(super) apart: f64,
    /// The round trips that cells have in turns. Each makes a group of cells.
    pub(super) rtts: &'static [f64],
}

pub(super) const USUAL: Sweeps = Sweeps {
    cells: 12,
    blocks: 8,
    noise: 0.03,
    unlike: 2.0,
    apart: 1.0,
    rtts: &[0.0],
};

/// True changes over the cells of each group, and last over all cells.
type TrueChanges = Vec<Truth>;

const GROUPS: &[f64] = &[0.0, 5.0, 50.0];

/// The true changes of candidates in a launch without shift, in margins of each quantity.
pub(super) type Truth = Vec<[f64; QUANTITIES]>;

const QUANTITIES: usize = 7;

/// The quantities of sweeps. The others are of applications that count bytes.
pub(super) fn quantities() -> Vec<Quantity> {
    let mut all = Quantity::all();
    all.retain(|quantity| ![Metric::MibPerS, Metric::CpuUsPerMib].contains(&quantity.metric));
    all
}

/// The factors of a quantity in one cell, under the baseline, the control and the candidates.
struct SimulatedCell {
    factors: Vec<f64>,
    shift: f64,
    noise: f64,
}

impl Sweeps {
    fn cell(
        &self,
        quantity: Quantity,
        truth: &Truth,
        at: usize,
        rng: &mut StdRng,
    ) -> SimulatedCell {
        let mut factors = vec![1.0; truth.len() + 2];
        for (factor, truth) in factors[2..].iter_mut().zip(truth) {
            let margins = truth[at] + self.apart * draw::normal(rng);
            *factor = if quantity.metric.info().is_share {
                (1.0 + quantity.margin * margins / 100.0 / SHARE).max(0.0)
            } else {
                // This keeps the mean of logarithms at that of the true change.
                let signed = if margins < 0.0 { -1.0 } else { 1.0 };
                (signed * (1.0 + quantity.margin / 100.0).ln() * margins.abs()).exp()
            };
        }
        SimulatedCell {
            factors,
            shift: rng.random_range(0.7..1.3),
            noise: self.noise * (self.unlike.ln() * draw::normal(rng)).exp(),
        }
    }

    /// Estimates of the variants of a simulated cell. The reference is the first two together.
    fn estimates(
        &self,
        quantity: Quantity,
        cell: &SimulatedCell,
        rng: &mut StdRng,
    ) -> ByVariant<Option<CellEstimate>> {
        let is_share = quantity.metric.info().is_share;
        let kind = if is_share {
            RatioKind::Share
        } else {
            RatioKind::Amount
        };
        let of_variant = |factor: &f64| {
            let rate = SHARE * cell.shift * factor;
            let part = |_| {
                let rate = rate * draw::factor(cell.noise, rng);
                let num = match is_share {
                    true => draw::count(POLLS, rate.min(1.0), rng),
                    false => POLLS * rate,
                };
                RatioPart { num, den: POLLS }
            };
            (0..self.blocks).map(part).collect()
        };
        let variants: Vec<Vec<RatioPart>> = cell.factors.iter().map(of_variant).collect();
        let both = variants[0].iter().zip(&variants[1]);
        let both = both
            .map(|(one, other)| RatioPart::sum(vec![*one, *other]))
            .collect();
        let estimate = |blocks| ratio(&[blocks], kind);
        ByVariant {
            variants: variants.into_iter().map(estimate).collect(),
            reference: estimate(both),
        }
    }

    fn cell_data(&self, peers: usize) -> CellData {
        let rtt_ms = self.rtts[peers % self.rtts.len()];
        let cell = Cell {
            peers,
            rtt_ms: Rtt::from_ms(rtt_ms).expect("a round trip"),
            payload_bytes: Payload::of_bytes(1),
        };
        CellData::of_one_launch(cell, self.blocks)
    }

    /// Simulates a sweep. Returns the verdict and the true changes over its cells, by candidate and quantity.
    fn sweep(&self, truth: &Truth, rng: &mut StdRng) -> (Verdict, TrueChanges) {
        let (summary, changes) = self.measured(truth, rng);
        (Verdict::new(&summary, &options()), changes)
    }

    pub(super) fn measured(&self, truth: &Truth, rng: &mut StdRng) -> (Summary, TrueChanges) {
        let groups = self.rtts.len();
        let mut cells: Vec<(CellData, Estimates)> = (1..=self.cells)
            .map(|peers| self.cell_data(peers))
            .map(|data| (data, Estimates::new()))
            .collect();
        assert_eq!(quantities().len(), QUANTITIES);
        // By group, and last over all cells.
        let mut changes: TrueChanges = vec![vec![Default::default(); truth.len()]; groups + 1];
        let cells_in = |group: usize| {
            (1..=self.cells)
                .filter(|cell| group == groups || cell % groups == group)
                .count()
        };
        let counts: Vec<f64> = (0..=groups).map(|group| cells_in(group) as f64).collect();
        for (at, quantity) in quantities().into_iter().enumerate() {
            for (data, estimates_of_cell) in &mut cells {
                let cell = self.cell(quantity, truth, at, rng);
                for group in [data.cell.peers % groups, groups] {
                    for (candidate, factor) in changes[group].iter_mut().zip(&cell.factors[2..]) {
                        candidate[at] += if quantity.metric.info().is_share {
                            100.0 * SHARE * cell.shift * (factor - 1.0)
                        } else {
                            factor.ln()
                        } / counts[group];
                    }
                }
                let what = MetricKey::new(Site::Connection, quantity.metric);
                let estimates = self.estimates(quantity, &cell, rng);
                estimates_of_cell.insert(what, estimates);
            }
        }
        for (at, quantity) in quantities().into_iter().enumerate() {
            if !quantity.metric.info().is_share {
                changes
                    .iter_mut()
                    .flatten()
                    .for_each(|change| change[at] = 100.0 * change[at].exp_m1());
            }
        }
        let cells = cells.into_iter().map(|(data, estimates)| {
            CellSummary::compare(data, estimates, Some(1), Site::Connection)
        });
        (summary(cells.collect(), truth.len()), changes)
    }
}

fn summary(mut cells: Vec<CellSummary>, candidates: usize) -> Summary {
    let variant = |at: usize| ComparedVariant {
        label: format!("variant {at}"),
        role: match at {
            0 => ComparedRole::Baseline,
            1 => ComparedRole::Control,
            _ => ComparedRole::Candidate,
        },
        budgets: Budgets::NONE,
        subject: 0,
    };
    let variants: Vec<ComparedVariant> = (0..candidates + 2).map(variant).collect();
    let calibrations = calibrate_changes(&mut cells, &variants);
    Summary {
        identity: Identity {
            name: "simulated".to_owned(),
            sites: SiteNames::libp2p(),
            ..Identity::default()
        },
        axes: Axes::of_cells(cells.iter().map(|cell| &cell.data.cell)),
        variants,
        cells,
        calibrations,
    }
}

pub(super) fn options() -> Options {
    let text = r#"{"threshold": 50000, "site": [], "metric": [], "budget": [], "format": [], "link_base": null}"#;
    serde_json::from_str(text).expect("options")
}

/// The number of sweeps with a wrong "better", "worse" and "not worse".
fn wrong(sweeps: Sweeps, truth: &Truth, times: u32) -> [u32; 3] {
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut wrong = [0; 3];
    for _ in 0..times {
        let (verdict, changes) = sweeps.sweep(truth, &mut rng);
        let mut is_wrong = [false; 3];
        let all = changes.last().expect("all cells");
        for (at, candidate) in verdict.candidates.iter().enumerate() {
            mark_wrong(&mut is_wrong, &candidate.changes, &all[at]);
            // Groups are in the order of their round trips.
            for (group, truth) in candidate.groups.iter().zip(&changes) {
                mark_wrong(&mut is_wrong, &group.changes, &truth[at]);
            }
        }
        wrong
            .iter_mut()
            .zip(is_wrong)
            .for_each(|(count, is)| *count += u32::from(is));
    }
    wrong
}

fn mark_wrong(is_wrong: &mut [bool; 3], changes: &[QuantityChange], truth: &[f64; QUANTITIES]) {
    for (change, true_change) in changes.iter().zip(truth) {
        let loss = match change.quantity.is_lower_better() {
            true => *true_change,
            false => -true_change,
        };
        match change.outcome() {
            Outcome::Better => is_wrong[0] |= loss >= -change.quantity.margin,
            Outcome::Worse => is_wrong[1] |= loss <= change.quantity.margin,
            Outcome::NotWorse => is_wrong[2] |= loss > change.quantity.margin,
            Outcome::Unknown => {}
        }
    }
}

/// The number of sweeps that name the best candidate alone, and of those that name it among others.
fn named(sweeps: Sweeps, margins: f64, times: u32) -> [u32; 2] {
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut truth: Truth = vec![Default::default(); CANDIDATES];
    let gain = |changes: &mut [f64; _]| changes[..2].copy_from_slice(&[-5.0, -10.0]);
    truth.iter_mut().for_each(gain);
    truth[2][0] -= margins;
    let mut named = [0; 2];
    for _ in 0..times {
        let (verdict, _) = sweeps.sweep(&truth, &mut rng);
        match verdict.leaders().as_slice() {
            [2] => named[0] += 1,
            several => named[1] += u32::from(several.contains(&2)),
        }
    }
    named
}

/// True changes that are all at the margins, where claims are wrong most easily. Half of them are gains.
fn at_the_margins() -> Truth {
    let mut truth: Truth = vec![Default::default(); CANDIDATES];
    for (at, candidate) in truth.iter_mut().enumerate() {
        for (quantity, margins) in quantities().into_iter().zip(candidate) {
            let is_gain = at % 2 == 0;
            *margins = if is_gain == quantity.is_lower_better() {
                -1.0
            } else {
                1.0
            };
        }
    }
    truth
}

fn kinds() -> [(&'static str, Sweeps); 7] {
    [
        ("12 cells", USUAL),
        (
            "12 cells, changes alike in all cells",
            Sweeps {
                apart: 0.0,
                ..USUAL
            },
        ),
        (
            "12 cells, 5 blocks, errors unlike by a factor of 5",
            Sweeps {
                blocks: 5,
                unlike: 5.0,
                ..USUAL
            },
        ),
        ("2 cells", Sweeps { cells: 2, ..USUAL }),
        ("60 cells", Sweeps { cells: 60, ..USUAL }),
        (
            "12 cells in three groups",
            Sweeps {
                rtts: GROUPS,
                ..USUAL
            },
        ),
        (
            "60 cells in three groups",
            Sweeps {
                cells: 60,
                rtts: GROUPS,
                ..USUAL
            },
        ),
    ]
}

fn print_wrong(times: u32) -> Vec<[u32; 3]> {
    println!(
        "\n| {times} simulated sweeps, all changes at the margins | any wrong \"better\" | any wrong \"worse\" | any wrong \"not worse\" |"
    );
    println!("|---|---|---|---|");
    let row = |(name, sweeps): (&str, Sweeps)| {
        let wrong = wrong(sweeps, &at_the_margins(), times);
        let percent =
            wrong.map(|count| format!("{:.1}", 100.0 * f64::from(count) / f64::from(times)));
        println!("| {name} | {} |", percent.join(" | "));
        wrong
    };
    kinds().into_iter().map(row).collect()
}

fn print_named(times: u32) {
    println!(
        "\n| {times} simulated sweeps of 4 candidates that gain | the best is better by | named alone | named with others | not named |"
    );
    println!("|---|---|---|---|---|");
    for (name, sweeps) in kinds() {
        for margins in [0.5, 1.0, 2.0, 4.0] {
            let [alone, among] = named(sweeps, margins, times);
            let percent = [alone, among, times - alone - among]
                .map(|count| format!("{:.1}", 100.0 * f64::from(count) / f64::from(times)));
            println!("| {name} | {margins} margins | {} |", percent.join(" | "));
        }
    }
}

/// The percentage of intervals of the mean ratio that contain the true value, with each of [`CONFIDENCES`].
fn coverage(sweeps: Sweeps, metric: Metric, times: u32) -> [f64; 2] {
    let mut rng = StdRng::seed_from_u64(SEED);
    let all = quantities();
    let at = all
        .iter()
        .position(|quantity| quantity.metric == metric)
        .expect("it decides");
    let mut held = [0; 2];
    for _ in 0..times {
        let mut truth = 0.0;
        let mut changes = Vec::new();
        for _ in 0..sweeps.cells {
            let cell = sweeps.cell(all[at], &vec![Default::default(); CANDIDATES], at, &mut rng);
            truth += cell.factors[2].ln() / sweeps.cells as f64;
            let estimates = sweeps.estimates(all[at], &cell, &mut rng);
            let [Some(baseline), Some(other)] =
                [0, 2].map(|at: usize| estimates.variants[at].as_ref())
            else {
                unreachable!("everything is measured")
            };
            let relative = paired_change(baseline, other)
                .and_then(|change| change.relative)
                .expect("a change");
            changes.push(crate::stats::Uncertain {
                value: 100.0 * relative.value,
                standard_error: 100.0 * relative.standard_error,
                ..relative
            });
        }
        let mean = MeanChange::from_relatives(&changes).expect("cells");
        for (held, confidence) in held.iter_mut().zip(CONFIDENCES) {
            let interval = mean.interval(confidence);
            *held += i32::from(interval.covers(100.0 * truth.exp_m1()));
        }
    }
    held.map(|held| 100.0 * f64::from(held) / f64::from(times))
}

/// The confidence of an interval by itself, and of one of 28 that hold together.
const CONFIDENCES: [f64; 2] = [0.95, 1.0 - 0.05 / 28.0];

fn print_coverage(times: u32) -> Vec<[f64; 2]> {
    println!(
        "\n| {times} simulated mean ratios | cells differ by | 95 % intervals that hold the truth | 99.82 % intervals |"
    );
    println!("|---|---|---|---|");
    let row = |((name, sweeps), metric): ((&str, Sweeps), Metric)| {
        let [usual, wide] = coverage(sweeps, metric, times);
        let margin =
            sweeps.apart * Quantity::by_metric(metric).map_or(0.0, |quantity| quantity.margin);
        println!("| {name} | {margin} % | {usual:.1} | {wide:.2} |");
        [usual, wide]
    };
    let metrics = [Metric::CpuUsPerRequest, Metric::BeyondMsPerS];
    let kinds = kinds()
        .into_iter()
        .filter(|(_, sweeps)| sweeps.rtts.len() == 1);
    let kinds = kinds.flat_map(|kind| metrics.map(|metric| (kind, metric)));
    kinds.map(row).collect()
}

#[test]
#[ignore = "takes minutes"]
fn verdicts_are_seldom_wrong() {
    print_coverage(2000);
    for wrong in print_wrong(500) {
        assert!(
            wrong.into_iter().all(|count| count * 20 <= 500),
            "{wrong:?}"
        );
    }
    print_named(200);
}

/// One wrong verdict in 20 is 5 %.
#[test]
fn a_few_verdicts_are_seldom_wrong_and_name_a_much_better_candidate() {
    for sweeps in [
        USUAL,
        Sweeps {
            rtts: GROUPS,
            ..USUAL
        },
    ] {
        let wrong = wrong(sweeps, &at_the_margins(), 20);
        assert!(wrong.into_iter().all(|count| count <= 4), "{wrong:?}");
    }
    let [alone, among] = named(USUAL, 4.0, 10);
    assert!(alone >= 5 && alone + among == 10, "{alone} {among}");
}
