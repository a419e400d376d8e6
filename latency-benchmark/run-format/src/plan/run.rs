//! One launch of a cell: how long its slices are, and how long it is measured.

use crate::{
    Cell, LabConfig, Load, Measurement, Plan, Precision, Role, Rtt, RunConfig, SoakConfig,
    SoakPlan, SubjectConfig, SweepConfig, VariantConfig,
};

use super::block::duration_of_slices;

/// An interval of fewer blocks is not reliable.
pub const FEWEST_BLOCKS: usize = 4;

/// With more variants, blocks would be too few if slices had several turns.
const MANY_VARIANTS: usize = 12;

/// The configuration of one launch of a sweep.
pub fn launch_config(
    sweep: &SweepConfig,
    cell: Cell,
    run: u32,
    subject: Option<usize>,
    seed: u64,
) -> RunConfig {
    let launched = subject.and_then(|number| sweep.subjects.get(number));
    let compares = sweep.measurement == Measurement::Compare;
    let layout = |subject: &SubjectConfig| {
        let mut cells = sweep.axes.cells().into_iter();
        let number = cells.position(|other| other == cell)?;
        layout_of(number as u32, run, subject.layouts, subject.role)
    };
    let runtime = launched.and_then(|subject| subject.runtime);
    RunConfig {
        cell,
        run,
        subject,
        beside: sweep.subjects.len().saturating_sub(1) * usize::from(compares),
        layout: launched.filter(|_| compares).and_then(layout),
        seed,
        node: sweep.node.clone(),
        load: Load {
            payload: cell.payload_bytes,
            pace: sweep.pace,
        },
        runtime: runtime.unwrap_or(sweep.runtime),
        variants: sweep.variants.clone(),
        plan: plan_of_cell(sweep, cell),
        lab: sweep.lab.clone(),
        measurement: sweep.measurement.clone(),
        jobs: None,
    }
}

/// The number of the layout of a launch. Launches of one cell have different layouts as long as there are enough, and so have
/// cells that follow each other. The A/A control has other layouts than the program that it is a copy of.
fn layout_of(cell: u32, run: u32, layouts: u32, role: Role) -> Option<u32> {
    /// The number of layouts is a power of two, so an odd step reaches all of them.
    const BETWEEN_RUNS: u32 = 3;
    let first = match role {
        Role::Control => layouts / 2,
        Role::Baseline | Role::Candidate => 0,
    };
    let index = cell.wrapping_add(run.wrapping_mul(BETWEEN_RUNS));
    Some(index.wrapping_add(first).checked_rem(layouts)? + 1)
}

/// The name of a field in which a launch differs from the sweep, if there is one. Each launch has its own cores and seed, and
/// the time that other launches left. `plan` has the lengths of its slices.
pub fn differs_in(sweep: &SweepConfig, launch: &RunConfig, plan: Plan) -> Option<String> {
    let own = launch.clone();
    let expected = RunConfig {
        plan: Plan {
            max_ms: sweep.max_cell_ms.unwrap_or(own.plan.max_ms),
            ..plan
        },
        lab: LabConfig {
            placement: own.lab.placement,
            ..sweep.lab.clone()
        },
        jobs: own.jobs,
        ..launch_config(sweep, own.cell, own.run, own.subject, own.seed)
    };
    if expected == *launch {
        return None;
    }
    let json = |config: &RunConfig| serde_json::to_value(config).unwrap_or_default();
    let (expected, found) = (json(&expected), json(launch));
    let mut fields = expected.as_object()?.iter();
    let differing = fields.find(|(name, value)| found.get(name) != Some(value));
    Some(differing.map_or("config", |(name, _)| name).to_owned())
}

/// The configuration of the only launch of a soak.
pub fn run_config_of_soak(soak: &SoakConfig) -> RunConfig {
    RunConfig {
        cell: soak.cell,
        run: 1,
        subject: None,
        beside: 0,
        layout: None,
        seed: soak.seed,
        node: soak.node.clone(),
        load: soak.load,
        runtime: soak.runtime,
        variants: VariantConfig::from_budgets(vec![soak.budgets], false),
        plan: Plan {
            // The time between two rows, in which polls of the row before can end.
            settle_ms: 20,
            turn_ms: soak.interval_ms,
            max_ms: soak.duration_ms,
            ..long_slices(soak.cell.rtt_ms, None)
        },
        lab: soak.lab.clone(),
        measurement: Measurement::Soak(SoakPlan {
            interval_ms: soak.interval_ms,
            churn: soak.churn,
        }),
        jobs: None,
    }
}

/// The lengths of the slices of a cell, and of its measurement.
pub fn plan_of_cell(sweep: &SweepConfig, cell: Cell) -> Plan {
    let plan = match sweep.measurement {
        Measurement::Compare if sweep.variants.len() > MANY_VARIANTS => Plan {
            turns: 1,
            ..short_turns(sweep, cell)
        },
        Measurement::Compare if sweep.variants.len() > 1 || sweep.subjects.len() > 1 => {
            short_turns(sweep, cell)
        }
        // A single variant has nothing to take turns with.
        _ => long_slices(cell.rtt_ms, sweep.turn_ms),
    };
    let blocks = duration_of_slices(&plan, sweep.variants.len()) * fewest_blocks(sweep, cell);
    let by_rtt_ms = (sweep.time_scale * measuring_ms(cell.rtt_ms.ms())) as u64;
    let planned_ms = by_rtt_ms.max(blocks.as_millis() as u64);
    Plan {
        settle_ms: sweep.settle_ms.unwrap_or(plan.settle_ms),
        max_ms: sweep.max_cell_ms.unwrap_or(planned_ms),
        precision: sweep.precision,
        ..plan
    }
}

/// The time for which a run is measured before the sweep's `time_scale`. With long round trips it is longer, since a second
/// has fewer polls and turns.
pub fn measuring_ms(rtt_ms: f64) -> f64 {
    const SHORTEST_MS: f64 = 8400.0;
    const MS_BY_RTT_MS: f64 = 40.0;
    SHORTEST_MS + MS_BY_RTT_MS * rtt_ms
}

/// The number of launches of a cell, of each subject if subjects are compared.
pub fn launches_of_cell(sweep: &SweepConfig, cell: Cell) -> u32 {
    const FAR_MS: f64 = 50.0;
    match sweep.far_repeat {
        Some(far) if cell.rtt_ms.ms() > FAR_MS => far,
        _ => sweep.repeat,
    }
}

/// The fewest blocks of a run. Several runs of a cell have enough blocks together, but each needs two, to show how much
/// blocks of one run differ.
pub fn fewest_blocks(sweep: &SweepConfig, cell: Cell) -> u32 {
    const IN_A_RUN: u32 = 2;
    let fewest = (FEWEST_BLOCKS as u32).div_ceil(launches_of_cell(sweep, cell));
    fewest.max(IN_A_RUN)
}

/// Slices of many short turns. The noise of a machine changes slowly, so variants have to alternate often. METHODS.md has
/// the measurements that the lengths follow from. A turn has at least two round trips, since traffic comes in bursts of
/// one, and is longer by the time that requests in flight take.
fn short_turns(sweep: &SweepConfig, cell: Cell) -> Plan {
    /// Shorter slices make larger files. Longer ones make fewer blocks, and intervals are computed from blocks.
    const SLICE_MS: u64 = 60;
    /// The payload that even a slow machine sends and receives in a millisecond.
    const BYTES_PER_MS: u64 = 100 << 10;
    let rtt_ms = cell.rtt_ms.ms().ceil() as u64;
    // With a delay, packets of the variant before are still in flight for a while.
    let (least_turn_ms, least_settle_ms) = if rtt_ms == 0 { (20, 10) } else { (40, 20) };
    let transfer_ms = cell.peers as u64 * cell.payload_bytes.bytes() as u64 / BYTES_PER_MS;
    let requests_ms = turn_of_requests_ms(cell).unwrap_or(2 * rtt_ms);
    let by_rtt_ms = least_turn_ms.max(requests_ms);
    let turn_ms = sweep.turn_ms.unwrap_or(by_rtt_ms + transfer_ms);
    Plan {
        settle_ms: least_settle_ms.max(rtt_ms / 2) + transfer_ms / 4,
        turn_ms,
        turns: u32::try_from(SLICE_MS.div_ceil(turn_ms)).unwrap_or(1),
        ..long_slices(cell.rtt_ms, None)
    }
}

/// The length of a turn in which most of the answered requests were also sent, so that throughput can be compared. None if
/// such turns would leave too few blocks.
fn turn_of_requests_ms(cell: Cell) -> Option<u64> {
    const LONGEST_MS: u64 = 500;
    /// A request of up to 64 KiB needs one round trip to open its stream, and one for the answer. Larger requests wait for
    /// windows to grow.
    const ROUND_TRIPS: u64 = 2;
    const FIRST_WINDOWS: u64 = 64 << 10;
    let payload = cell.payload_bytes.bytes() as u64;
    let doublings = payload.div_ceil(FIRST_WINDOWS).next_power_of_two().ilog2();
    let request_ms = (ROUND_TRIPS + u64::from(doublings)) * cell.rtt_ms.ms().ceil() as u64;
    // In a turn of twice a request's length, half of the answers would belong to requests from before the turn.
    Some(request_ms * 9 / 4).filter(|ms| *ms <= LONGEST_MS)
}

/// Slices of one turn each, for measurements in which variants do not alternate.
pub fn long_slices(rtt: Rtt, slice_ms: Option<u64>) -> Plan {
    const SETTLE_MS: u64 = 50;
    const SLICE_MS: u64 = 250;
    const WARM_UP_MS: u64 = 300;
    let rtt_ms = rtt.ms().ceil() as u64;
    Plan {
        warm_up_ms: WARM_UP_MS + 4 * rtt_ms,
        settle_ms: SETTLE_MS + rtt_ms,
        turn_ms: slice_ms.unwrap_or(SLICE_MS).max(5 * rtt_ms),
        turns: 1,
        max_ms: 0,
        precision: Precision::DEFAULT,
    }
}

#[cfg(test)]
mod tests {
    use crate::Payload;

    use super::*;

    #[test]
    fn launches_of_a_cell_and_the_copy_of_a_program_have_other_layouts() {
        let layouts = |role| {
            let layout = |run| layout_of(5, run, 16, role).expect("there are layouts");
            (1..=8).map(layout).collect::<Vec<u32>>()
        };
        let (program, copy) = (layouts(Role::Baseline), layouts(Role::Control));
        let mut all = [program.clone(), copy.clone()].concat();
        assert!(all.iter().all(|layout| (1..=16).contains(layout)));
        assert!(program.iter().zip(&copy).all(|(one, other)| one != other));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 16);
        assert_eq!(layouts(Role::Candidate), program);
        assert_eq!(layout_of(5, 1, 0, Role::Baseline), None);
    }

    #[test]
    fn turns_are_longer_than_two_requests_unless_that_leaves_too_few_blocks() {
        let turn_ms = |rtt_ms: f64, kib: u32| {
            let rtt_ms = Rtt::from_ms(rtt_ms).expect("a time");
            let payload_bytes = Payload::kib(kib);
            turn_of_requests_ms(Cell {
                peers: 1,
                rtt_ms,
                payload_bytes,
            })
        };
        assert_eq!(
            [turn_ms(25.0, 64), turn_ms(25.0, 256)],
            [Some(112), Some(225)]
        );
        assert_eq!([turn_ms(100.0, 64), turn_ms(100.0, 65)], [Some(450), None]);
        assert_eq!(turn_ms(200.0, 4), None);
    }
}
