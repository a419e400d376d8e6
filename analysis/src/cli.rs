//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::{failure::Failure, options::Options, verbs};

/// Turns the runs of a sweep into heatmaps, comparisons, a verdict and a report.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  analysis report results/2026-11-20T10-00-00Z
  analysis report results/default --threshold 100us --site muxer --budget muxer=2
  analysis compare results/before results/after --out compared
  analysis verify results/default

Exit codes: 0 done; 1 something broke, or a report is not what its run gives; 2 the input cannot be used."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Heatmaps, before and after, and a verdict, of a sweep; what libp2p adds to TCP, of `rr`; what drifts, of
    /// a soak
    Report {
        /// The folder of a sweep, of `latency-benchmark rr` or of a soak, results/NAME
        run: PathBuf,
        #[command(flatten)]
        options: Options,
    },
    /// Two sweeps of different versions or machines, side by side
    Compare {
        /// The folder of a sweep, or a table in the format of the first published benchmark
        before: PathBuf,
        /// The folder of a sweep
        after: PathBuf,
        #[command(flatten)]
        options: Options,
    },
    /// Whether a report is what its run gives, number by number
    Verify {
        /// The folder of a sweep
        run: PathBuf,
        /// The folder of its report [default: RUN/report]
        #[arg(long, value_name = "DIR")]
        report: Option<PathBuf>,
    },
    /// Heatmaps of a table in the format of the first published benchmark (a row per cell)
    Published {
        /// The table
        table: PathBuf,
        #[command(flatten)]
        options: Options,
    },
}

pub(crate) fn run(cli: Cli) -> Result<(), Failure> {
    match cli.verb {
        Verb::Report { run, options } => verbs::report::run(&run, &options),
        Verb::Compare {
            before,
            after,
            options,
        } => verbs::compare::run(&before, &after, &options),
        Verb::Verify { run, report } => verbs::verify::run(&run, report.as_deref()),
        Verb::Published { table, options } => verbs::published::run(&table, &options),
    }
}
