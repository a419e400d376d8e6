//! The figures of transactions by raw TCP and by libp2p, and their differences, from the slices of a cell of
//! `rr`.

use std::borrow::Cow;

use anyhow::Result;
use run_format::{
    files,
    grid::Cell,
    run_row::End,
    variant::{Role, VariantConfig},
};

use super::{CellState, checks::sum};
use crate::{
    load::{
        CellRuns,
        blocks::{Disturbances, Disturbed},
        rr::{self, RrRun, RrSlice},
    },
    stats::{self, CONFIDENCE, CellEstimate, Change, Interval, LaunchCounts, RatioKind, RatioPart},
};

/// A quantity of transactions.
#[derive(Clone, Copy)]
pub(crate) struct Quantity {
    /// Its name in tables on disk.
    pub(crate) name: &'static str,
    /// Its name in text.
    pub(crate) words: &'static str,
    pub(crate) unit: &'static str,
    from: QuantitySource,
}

/// How a quantity is made from slices.
#[derive(Clone, Copy)]
enum QuantitySource {
    PerS,
    /// A percentile, of nanoseconds.
    Latency(f64),
    /// An amount by transaction; the slice has no such counter if it is none.
    Each(fn(&RrSlice) -> Option<f64>),
}
use QuantitySource::{Each, Latency, PerS};

#[rustfmt::skip]
impl Quantity {
    pub(crate) const PER_S: Quantity = Quantity { name: "transactions_per_s", words: "transactions", unit: "per s", from: PerS };
    pub(crate) const LATENCY_P50: Quantity = Quantity { name: "latency_p50_us", words: "latency p50", unit: "µs", from: Latency(0.5) };
    pub(crate) const LATENCY_P99: Quantity = Quantity { name: "latency_p99_us", words: "latency p99", unit: "µs", from: Latency(0.99) };
    pub(crate) const CPU: Quantity = Quantity { name: "cpu_us_per_transaction", words: "CPU time", unit: "µs per transaction", from: Each(|it| Some(1e-3 * it.row.central_cpu_ns? as f64)) };
    const USER: Quantity = Quantity { name: "user_us_per_transaction", words: "in user space", unit: "µs per transaction", from: Each(|it| Some(1e3 * it.row.central_user_ms?)) };
    const SYSTEM: Quantity = Quantity { name: "system_us_per_transaction", words: "in the kernel", unit: "µs per transaction", from: Each(|it| Some(1e3 * it.row.central_system_ms?)) };
    const LINK_BYTES: Quantity = Quantity { name: "link_bytes_per_transaction", words: "bytes over the link", unit: "per transaction", from: Each(|it| Some(it.link_bytes()? as f64)) };

    pub(crate) const ALL: [Quantity; 7] = [
        Self::PER_S, Self::LATENCY_P50, Self::LATENCY_P99, Self::CPU, Self::USER, Self::SYSTEM, Self::LINK_BYTES,
    ];
}

/// A cell, measured.
pub(crate) struct RrCell {
    pub(crate) cell: Cell,
    pub(crate) state: CellState,
    pub(crate) flaws: Vec<String>,
    pub(crate) blocks: usize,
    /// Disturbed blocks that nothing is made of, and others.
    pub(crate) set_aside: Disturbances,
    pub(crate) kept: Disturbances,
    /// By quantity, in the order of [`Quantity::ALL`], then by variant. None if it could not be measured.
    figures: Vec<Vec<Option<RrFigure>>>,
}

/// A quantity of one variant, in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RrFigure {
    pub(crate) value: f64,
    /// For this launch. None if the uncertainty is unknown.
    pub(crate) interval: Option<Interval>,
    /// Compared with the baseline. None for the baseline itself, and if the uncertainty is unknown.
    pub(crate) change: Option<Change>,
}

impl RrFigure {
    /// Divided by the baseline's value, with its interval.
    pub(crate) fn times(&self) -> Option<(f64, Interval)> {
        let relative = self.change?.relative?;
        let Interval { low, high } = relative.interval(CONFIDENCE);
        let one_more = Interval::new((1.0 + low).max(0.0), 1.0 + high);
        Some((1.0 + relative.value, one_more))
    }

    /// The difference to the baseline's value, with its interval.
    pub(crate) fn added(&self) -> Option<(f64, Interval)> {
        let Change { difference, .. } = self.change?;
        Some((difference.value, difference.interval(CONFIDENCE)))
    }
}

impl RrCell {
    pub(crate) fn of(
        files: &CellRuns,
        variants: &[VariantConfig],
        disturbed: Disturbed,
    ) -> Result<RrCell> {
        let mut cell = RrCell {
            cell: files.cell,
            state: CellState::Missing,
            flaws: Vec::new(),
            blocks: 0,
            set_aside: Disturbances::new(),
            kept: Disturbances::new(),
            figures: Vec::new(),
        };
        let mut runs = Vec::new();
        for files in &files.runs {
            match files.row.as_ref().map(|row| &row.end) {
                Some(End::Invalid { reason }) => {
                    cell.state = CellState::Invalid(reason.clone());
                    continue;
                }
                Some(End::Failed { stage, reason }) => {
                    cell.state = CellState::Failed(reason.clone());
                    cell.flaws.push(format!("failed while {stage}: {reason}"));
                }
                None | Some(&End::INTERRUPTED) => cell.flaws.push("interrupted".to_owned()),
                Some(End::Ok { .. }) => {}
            }

            // A run that failed early has no table.
            let is_there = files.dir.join(files::RR).is_file();
            let read = || rr::read(files, variants, disturbed);
            runs.extend(is_there.then(read).transpose()?);
        }
        runs.retain(|run| !run.blocks.is_empty());
        if !runs.is_empty() {
            cell.state = CellState::Measured;
            cell.blocks = runs.iter().map(|run| run.blocks.len()).sum();
            cell.set_aside = sum(runs.iter().map(|run| &run.set_aside));
            cell.kept = sum(runs.iter().map(|run| &run.kept));
            cell.flaws.extend(flaws(&runs, variants));
            let figures = Quantity::ALL.map(|quantity| figures(&runs, quantity, variants.len()));
            cell.figures = figures.into();
        }
        Ok(cell)
    }

    pub(crate) fn figure(&self, quantity: Quantity, variant: usize) -> Option<RrFigure> {
        let at = Quantity::ALL
            .iter()
            .position(|it| it.name == quantity.name)?;
        *self.figures.get(at)?.get(variant)?
    }
}

/// Reports transactions that were lost, and libp2p activity in slices of raw TCP.
fn flaws(runs: &[RrRun], variants: &[VariantConfig]) -> Vec<String> {
    let mut flaws = Vec::new();
    let slices = || runs.iter().flat_map(|run| &run.slices);
    let lost: u64 = slices().map(|slice| slice.row.lost_entries).sum();
    if lost > 0 {
        flaws.push(format!("{lost} transactions found the buffer full"));
    }
    let others: u64 = slices()
        .map(|slice| slice.row.other_path_transactions)
        .sum();
    if others > 0 {
        flaws.push(format!(
            "{others} transactions used the path that was not being measured"
        ));
    }
    let raw = |run: &RrRun| {
        let of_raw = |block: &Vec<usize>| {
            let raw = block.iter().zip(variants);
            raw.filter(|(_, variant)| variant.role != Role::Candidate)
                .map(|(slice, _)| run.slices[*slice].row.libp2p_polls)
                .sum::<u64>()
        };
        run.blocks.iter().map(of_raw).sum::<u64>()
    };
    let polls: u64 = runs.iter().map(raw).sum();
    if polls > 0 {
        flaws.push(format!(
            "libp2p was polled {polls} times in slices of raw TCP"
        ));
    }
    flaws
}

/// By variant.
fn figures(runs: &[RrRun], quantity: Quantity, variants: usize) -> Vec<Option<RrFigure>> {
    let estimates: Vec<Option<CellEstimate>> = (0..variants)
        .map(|variant| estimate(runs, quantity, variant))
        .collect();
    let baseline = estimates.first().and_then(Option::as_ref);
    let figure = |(variant, estimate): (usize, &Option<CellEstimate>)| {
        let estimate = estimate.as_ref()?;
        let change = (variant > 0)
            .then(|| stats::change(baseline?, estimate))
            .flatten();
        let scale = match quantity.from {
            Latency(_) => 1e-3,
            PerS | Each(_) => 1.0,
        };
        Some(RrFigure {
            value: scale * estimate.value(),
            interval: estimate.interval(CONFIDENCE).map(|it| it.times(scale)),
            change: change.map(|it| Change {
                difference: it.difference.times(scale),
                ..it
            }),
        })
    };
    estimates.iter().enumerate().map(figure).collect()
}

fn estimate<'a>(runs: &'a [RrRun], quantity: Quantity, variant: usize) -> Option<CellEstimate> {
    let by_ratio = |part: &dyn Fn(&RrSlice) -> Option<RatioPart>| {
        let of_block = |run: &RrRun, block: &Vec<usize>| part(&run.slices[block[variant]]);
        let of_run = |run: &RrRun| {
            let blocks = run.blocks.iter();
            blocks.map(|block| of_block(run, block)).collect()
        };
        let parts: Option<Vec<Vec<RatioPart>>> = runs.iter().map(of_run).collect();
        stats::ratio(&parts?, RatioKind::Amount)
    };
    let by_quantile = |at: f64| {
        let of_run = |run: &'a RrRun| {
            let blocks = run.blocks.iter();
            let latency =
                |block: &Vec<usize>| Cow::Borrowed(&run.slices[block[variant]].latency_ns);
            LaunchCounts::of(blocks.map(latency).collect())
        };
        stats::quantile(&runs.iter().map(of_run).collect::<Vec<_>>(), at)
    };
    match quantity.from {
        PerS => by_ratio(&|slice| {
            Some(RatioPart {
                num: slice.row.transactions as f64,
                den: slice.row.duration_ms / 1000.0,
            })
        }),
        Latency(at) => by_quantile(at),
        // Counters span a little more than the slice.
        Each(amount) => by_ratio(&|slice| {
            Some(RatioPart {
                num: amount(slice)?,
                den: slice.row.transactions as f64 * slice.row.sampled_ms / slice.row.duration_ms,
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use run_format::Budgets;

    use super::*;
    use crate::stats::Counts;

    /// Twelve blocks of a launch that gets slower all the time, in which each transaction by libp2p costs
    /// `times` what one by raw TCP does.
    fn run(times: f64) -> RrRun {
        let slice = |block: u32, times: f64| {
            let noise = 1.0 + 0.02 * f64::from((block * 7 + 3 * times as u32) % 5);
            let us = 20.0 * (1.0 + 0.05 * f64::from(block)) * times * noise;
            let ns = (us * 1000.0) as u64;
            let transactions = (1e5 / us / 2.0) as u64;
            let cpu_ns = (transactions as f64 * us * 1000.0 * 1.1) as u64;
            let fields = format!(
                "1,{block},0,raw-tcp,0,100,110,{transactions},0,0,{cpu_ns},,,1,,,,,,,,,400,600,0"
            );
            let row = csv::StringRecord::from(fields.split(',').collect::<Vec<_>>())
                .deserialize(None)
                .expect("a row of rr.csv");
            RrSlice {
                row,
                latency_ns: Counts::of([(2 * ns, 500), (3 * ns, 500)]),
            }
        };
        let blocks = 0..12_u32;
        RrRun {
            slices: blocks
                .clone()
                .flat_map(|block| [slice(block, 1.0), slice(block, 1.0), slice(block, times)])
                .collect(),
            blocks: blocks
                .map(|block| (0..3).map(|variant| 3 * block as usize + variant).collect())
                .collect(),
            set_aside: Disturbances::new(),
            kept: Disturbances::new(),
        }
    }

    #[test]
    fn a_known_ratio_is_found_however_the_launch_drifts() {
        let figures = figures(&[run(3.0)], Quantity::CPU, 3);
        let [raw, control, libp2p] = [0, 1, 2].map(|at| figures[at].expect("it was measured"));
        let (times, interval) = libp2p.times().expect("twelve blocks");
        assert!(
            interval.low < 3.0 && 3.0 < interval.high && interval.high - interval.low < 0.2,
            "{times} {interval:?}"
        );
        let (added, _) = libp2p.added().expect("twelve blocks");
        assert!((added - (libp2p.value - raw.value)).abs() < 1e-9);
        assert_eq!(control.value, raw.value);
        assert!((20.0..40.0).contains(&raw.value), "{raw:?}");
    }

    #[test]
    fn latencies_are_in_microseconds() {
        let figures = figures(&[run(2.0)], Quantity::LATENCY_P50, 3);
        let raw = figures[0].expect("it was measured");
        assert!((40.0..130.0).contains(&raw.value), "{raw:?}");
        let (times, interval) = figures[2].and_then(|of| of.times()).expect("twelve blocks");
        assert!(
            interval.low < 2.0 && 2.0 < interval.high,
            "{times} {interval:?}"
        );
    }

    #[test]
    fn a_counter_that_the_kernel_does_not_have_gives_no_figure() {
        assert_eq!(figures(&[run(2.0)], Quantity::USER, 3), [None; 3]);
    }

    #[test]
    fn libp2p_activity_in_slices_of_raw_tcp_is_reported() {
        let variant = |role| VariantConfig {
            label: String::new(),
            role,
            budgets: Budgets::NONE,
        };
        let variants = [Role::Baseline, Role::Control, Role::Candidate].map(variant);
        let mut run = run(2.0);
        for slice in &mut run.slices[2..5] {
            slice.row.libp2p_polls = 7;
        }
        run.slices[1].row.other_path_transactions = 3;
        let flaws = flaws(&[run], &variants);
        assert_eq!(flaws.len(), 2);
        assert!(
            flaws[0].starts_with("3 transactions") && flaws[1].contains(" 14 times"),
            "{flaws:?}"
        );
    }
}
