//! Measures the cost of timing a poll, in ns per poll over the bare work.
//!
//! Every method of timing is a row. A round runs each row once, in random order, for a few thousand
//! polls. The cost of a row in a round is its time per poll minus that of the bare row in the same round.
//! The table shows the median over the rounds with its 95 % interval (order statistics), so that other
//! load on the core for a short time spoils a few rounds and not the result.
//!
//!     cargo run --release -p poll-probe --example overhead
#![allow(missing_docs, clippy::unwrap_used)]

mod overhead {
    pub(crate) mod rows;
    pub(crate) mod tracing_layer;
}

use std::time::Instant;

use overhead::rows::{self, CostRow};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

const ROUNDS: usize = 301;
const POLLS: u32 = 10_000;
const SEED: u64 = 6438;

fn main() {
    if cfg!(debug_assertions) {
        eprintln!("warning: not optimised; run with --release");
    }
    let mut all = rows::all();
    let mut costs_ns = vec![Vec::with_capacity(ROUNDS); all.len()];
    let mut order: Vec<usize> = (0..all.len()).collect();
    let mut rng = StdRng::seed_from_u64(SEED);
    for _ in 0..ROUNDS {
        order.shuffle(&mut rng);
        let mut round_ns = vec![0.0; all.len()];
        for &row in &order {
            round_ns[row] = time(&mut all[row]);
        }
        for (cost, ns) in costs_ns.iter_mut().zip(&round_ns) {
            cost.push(ns - round_ns[rows::BARE]);
        }
    }
    let summaries: Vec<Median> = costs_ns.into_iter().map(Median::new).collect();

    println!(
        "ns per poll over bare work, median of {ROUNDS} rounds of {POLLS} polls [95 % interval]"
    );
    for (row, cost) in all.iter().zip(&summaries).skip(1) {
        println!(
            "{:52} {:7.1}  [{:.1}, {:.1}]",
            row.name, cost.median, cost.low, cost.high
        );
    }
}

fn time(row: &mut CostRow) -> f64 {
    (row.prepare)();
    let start = Instant::now();
    (row.polls)(POLLS);
    let elapsed = start.elapsed();
    (row.check)(POLLS);
    elapsed.as_nanos() as f64 / f64::from(POLLS)
}

struct Median {
    median: f64,
    low: f64,
    high: f64,
}

impl Median {
    fn new(mut values: Vec<f64>) -> Median {
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let reach = (1.96 * (values.len() as f64).sqrt() / 2.0).ceil() as usize;
        Median {
            median: values[middle],
            low: values[middle - reach],
            high: values[middle + reach],
        }
    }
}
