//! From the slices of a cell of `rr` to what a transaction takes by raw TCP and by libp2p, and what is
//! between the two.

use std::borrow::Cow;

use anyhow::Result;

use super::State;
use crate::{
    grid::Cell,
    load::{
        CellRuns,
        rr::{self, RrRun, RrSlice},
        run_row::{End, Stop},
        variant::{Role, Variant},
    },
    stats::{self, Change, Estimate, Interval, Kind, Launch, Part, Uncertain},
    summary::CONFIDENCE,
};

/// What is measured of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    TransactionsPerS,
    LatencyP50Us,
    LatencyP99Us,
    CpuUs,
    UserUs,
    SystemUs,
    LinkBytes,
}

impl Quantity {
    pub(crate) const ALL: [Quantity; 7] = [
        Quantity::TransactionsPerS,
        Quantity::LatencyP50Us,
        Quantity::LatencyP99Us,
        Quantity::CpuUs,
        Quantity::UserUs,
        Quantity::SystemUs,
        Quantity::LinkBytes,
    ];

    /// In tables on disk.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Quantity::TransactionsPerS => "transactions_per_s",
            Quantity::LatencyP50Us => "latency_p50_us",
            Quantity::LatencyP99Us => "latency_p99_us",
            Quantity::CpuUs => "cpu_us_per_transaction",
            Quantity::UserUs => "user_us_per_transaction",
            Quantity::SystemUs => "system_us_per_transaction",
            Quantity::LinkBytes => "link_bytes_per_transaction",
        }
    }

    /// What it is, and its unit.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Quantity::TransactionsPerS => ("transactions", "per s"),
            Quantity::LatencyP50Us => ("latency p50", "µs"),
            Quantity::LatencyP99Us => ("latency p99", "µs"),
            Quantity::CpuUs => ("CPU time", "µs per transaction"),
            Quantity::UserUs => ("in user space", "µs per transaction"),
            Quantity::SystemUs => ("in the kernel", "µs per transaction"),
            Quantity::LinkBytes => ("bytes over the link", "per transaction"),
        }
    }
}

/// A cell, measured.
pub(crate) struct RrCell {
    pub(crate) cell: Cell,
    pub(crate) state: State,
    pub(crate) flaws: Vec<String>,
    pub(crate) blocks: usize,
    /// By quantity, in the order of [`Quantity::ALL`], then by variant. Absent is what could not be
    /// measured.
    figures: Vec<Vec<Option<Figure>>>,
}

/// A quantity of one variant, in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    /// Of this launch; absent where nothing says how sure the value is.
    pub(crate) interval: Option<Interval>,
    /// Against the baseline; absent for the baseline itself, and where nothing says how sure it is.
    pub(crate) change: Option<Change>,
}

impl Figure {
    /// By the baseline's value, with its interval: 2.1 is twice and a bit.
    pub(crate) fn times(&self) -> Option<(f64, Interval)> {
        let relative = self.change?.relative?;
        let Interval { low, high } = relative.interval(CONFIDENCE);
        let one_more = Interval {
            low: (1.0 + low).max(0.0),
            high: 1.0 + high,
        };
        Some((1.0 + relative.value, one_more))
    }

    /// What is added to the baseline's value.
    pub(crate) fn added(&self) -> Option<(f64, Interval)> {
        let Change { difference, .. } = self.change?;
        Some((difference.value, difference.interval(CONFIDENCE)))
    }
}

impl RrCell {
    pub(crate) fn of(files: &CellRuns, variants: &[Variant]) -> Result<RrCell> {
        let mut cell = RrCell {
            cell: files.cell,
            state: State::Missing,
            flaws: Vec::new(),
            blocks: 0,
            figures: Vec::new(),
        };
        let mut runs = Vec::new();
        for files in &files.runs {
            match files.row.as_ref().map(|row| &row.end) {
                Some(End::Invalid { reason }) => {
                    cell.state = State::Invalid(reason.clone());
                    continue;
                }
                Some(End::Failed { stage, reason }) => {
                    cell.state = State::Failed(reason.clone());
                    cell.flaws.push(format!("failed while {stage}: {reason}"));
                }
                None
                | Some(End::Ok {
                    stop: Stop::Interrupted,
                }) => cell.flaws.push("interrupted".to_owned()),
                Some(End::Ok { .. }) => {}
            }
            // What failed early has no table.
            let is_there = files.dir.join(rr::TABLE).is_file();
            runs.extend(is_there.then(|| rr::read(files, variants)).transpose()?);
        }
        runs.retain(|run| !run.blocks.is_empty());
        if !runs.is_empty() {
            cell.state = State::Measured;
            cell.blocks = runs.iter().map(|run| run.blocks.len()).sum();
            cell.flaws.extend(flaws(&runs, variants));
            let figures = Quantity::ALL.map(|quantity| figures(&runs, quantity, variants.len()));
            cell.figures = figures.into();
        }
        Ok(cell)
    }

    pub(crate) fn figure(&self, quantity: Quantity, variant: usize) -> Option<Figure> {
        *self.figures.get(quantity as usize)?.get(variant)?
    }
}

/// What tells that the two were not apart, or that not everything was seen.
fn flaws(runs: &[RrRun], variants: &[Variant]) -> Vec<String> {
    let mut flaws = Vec::new();
    let slices = || runs.iter().flat_map(|run| &run.slices);
    let lost: u64 = slices().map(|slice| slice.lost_entries).sum();
    if lost > 0 {
        flaws.push(format!("{lost} transactions found the buffer full"));
    }
    let others: u64 = slices().map(|slice| slice.other_way_transactions).sum();
    if others > 0 {
        flaws.push(format!(
            "{others} transactions went the way that had no turn"
        ));
    }
    let raw = |run: &RrRun| {
        let of_raw = |block: &Vec<usize>| {
            let raw = block.iter().zip(variants);
            raw.filter(|(_, variant)| variant.role != Role::Candidate)
                .map(|(slice, _)| run.slices[*slice].libp2p_polls)
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
fn figures(runs: &[RrRun], quantity: Quantity, variants: usize) -> Vec<Option<Figure>> {
    let estimates: Vec<Option<Estimate>> = (0..variants)
        .map(|variant| estimate(runs, quantity, variant))
        .collect();
    let baseline = estimates.first().and_then(Option::as_ref);
    let figure = |(variant, estimate): (usize, &Option<Estimate>)| {
        let estimate = estimate.as_ref()?;
        let change = (variant > 0)
            .then(|| stats::change(baseline?, estimate))
            .flatten();
        Some(scaled(estimate, change, scale(quantity)))
    };
    estimates.iter().enumerate().map(figure).collect()
}

fn estimate(runs: &[RrRun], quantity: Quantity, variant: usize) -> Option<Estimate> {
    let by_ratio = |part: fn(&RrSlice) -> Option<Part>| {
        let of_block = |run: &RrRun, block: &Vec<usize>| part(&run.slices[block[variant]]);
        let of_run = |run: &RrRun| {
            let blocks = run.blocks.iter();
            blocks.map(|block| of_block(run, block)).collect()
        };
        let parts: Option<Vec<Vec<Part>>> = runs.iter().map(of_run).collect();
        stats::ratio(&parts?, Kind::Amount)
    };
    let by_quantile = |at: f64| {
        let launches: Vec<Launch<'_>> = runs
            .iter()
            .map(|run| {
                let blocks = run.blocks.iter();
                let of_block =
                    |block: &Vec<usize>| Cow::Borrowed(&run.slices[block[variant]].latency_ns);
                Launch::of(blocks.map(of_block).collect())
            })
            .collect();
        stats::quantile(&launches, at)
    };
    match quantity {
        Quantity::TransactionsPerS => by_ratio(|slice| {
            Some(Part {
                num: slice.transactions as f64,
                den: slice.duration_ms / 1000.0,
            })
        }),
        Quantity::LatencyP50Us => by_quantile(0.5),
        Quantity::LatencyP99Us => by_quantile(0.99),
        Quantity::CpuUs => by_ratio(|slice| by_transaction(slice, slice.cpu_ns? as f64)),
        Quantity::UserUs => by_ratio(|slice| by_transaction(slice, 1e6 * slice.user_ms?)),
        Quantity::SystemUs => by_ratio(|slice| by_transaction(slice, 1e6 * slice.system_ms?)),
        Quantity::LinkBytes => by_ratio(|slice| by_transaction(slice, slice.link_bytes? as f64)),
    }
}

/// Of what is counted as sums, which span a little more than the slice.
fn by_transaction(slice: &RrSlice, amount: f64) -> Option<Part> {
    Some(Part {
        num: amount,
        den: slice.transactions as f64 * slice.sampled_ms / slice.duration_ms,
    })
}

/// From nanoseconds, or whatever is counted, to the quantity's unit.
fn scale(quantity: Quantity) -> f64 {
    match quantity {
        Quantity::TransactionsPerS | Quantity::LinkBytes => 1.0,
        _ => 1e-3,
    }
}

fn scaled(estimate: &Estimate, change: Option<Change>, by: f64) -> Figure {
    let interval = estimate.interval(CONFIDENCE).map(|of| Interval {
        low: of.low * by,
        high: of.high * by,
    });
    let change = change.map(|of| Change {
        difference: Uncertain {
            value: of.difference.value * by,
            standard_error: of.difference.standard_error * by,
            ..of.difference
        },
        ..of
    });
    Figure {
        value: estimate.value() * by,
        interval,
        change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Counts;

    /// Twelve blocks of a launch that gets slower all the time, in which each transaction by libp2p costs
    /// `times` what one by raw TCP does.
    fn run(times: f64) -> RrRun {
        let slice = |block: u32, times: f64| {
            let noise = 1.0 + 0.02 * f64::from((block * 7 + 3 * times as u32) % 5);
            let us = 20.0 * (1.0 + 0.05 * f64::from(block)) * times * noise;
            let ns = (us * 1000.0) as u64;
            RrSlice {
                duration_ms: 100.0,
                sampled_ms: 110.0,
                transactions: (1e5 / us / 2.0) as u64,
                other_way_transactions: 0,
                lost_entries: 0,
                cpu_ns: Some(((1e5 / us / 2.0).floor() * us * 1000.0 * 1.1) as u64),
                user_ms: None,
                system_ms: Some(1.0),
                link_bytes: Some(1000),
                libp2p_polls: 0,
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
        }
    }

    #[test]
    fn a_known_ratio_is_found_however_the_launch_drifts() {
        let figures = figures(&[run(3.0)], Quantity::CpuUs, 3);
        let [raw, twin, libp2p] = [0, 1, 2].map(|at| figures[at].expect("it was measured"));
        let (times, interval) = libp2p.times().expect("twelve blocks");
        assert!(
            interval.low < 3.0 && 3.0 < interval.high && interval.high - interval.low < 0.2,
            "{times} {interval:?}"
        );
        let (added, _) = libp2p.added().expect("twelve blocks");
        assert!((added - (libp2p.value - raw.value)).abs() < 1e-9);
        assert_eq!(twin.value, raw.value);
        assert!((20.0..40.0).contains(&raw.value), "{raw:?}");
    }

    #[test]
    fn latencies_are_in_microseconds() {
        let figures = figures(&[run(2.0)], Quantity::LatencyP50Us, 3);
        let raw = figures[0].expect("it was measured");
        assert!((40.0..130.0).contains(&raw.value), "{raw:?}");
        let (times, interval) = figures[2].and_then(|of| of.times()).expect("twelve blocks");
        assert!(
            interval.low < 2.0 && 2.0 < interval.high,
            "{times} {interval:?}"
        );
    }

    #[test]
    fn what_the_kernel_does_not_say_is_absent() {
        assert_eq!(figures(&[run(2.0)], Quantity::UserUs, 3), [None; 3]);
    }

    #[test]
    fn slices_that_were_not_apart_are_told() {
        let variant = |role| Variant {
            label: String::new(),
            role,
            budgets: "none".to_owned(),
            subject: 0,
        };
        let variants = [Role::Baseline, Role::Twin, Role::Candidate].map(variant);
        let mut run = run(2.0);
        for slice in &mut run.slices[2..5] {
            slice.libp2p_polls = 7;
        }
        run.slices[1].other_way_transactions = 3;
        let flaws = flaws(&[run], &variants);
        assert_eq!(flaws.len(), 2);
        assert!(
            flaws[0].starts_with("3 transactions") && flaws[1].contains(" 14 times"),
            "{flaws:?}"
        );
    }
}
