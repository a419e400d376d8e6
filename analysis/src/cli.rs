//! The command line of `analysis`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::RwLock;
use std::thread::{self, available_parallelism};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use program::{Failure, print_line};

use crate::options::{FigureOptions, Options};
use crate::packed;
use crate::search::Search;
use crate::verbs::{comment, compare, export, merge, page, report, verdict, verify};

/// Makes reports from what latency-benchmark measured: heatmaps, comparisons and a verdict
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  analysis report results/2026-11-20T10-00-00Z
  analysis report results/NAME --threshold 100us --site muxer --budget muxer=2
  analysis comment results/NAME
  analysis verdict results/NAME --margin cpu=2%
  analysis compare results/before results/after --out compared
  analysis page results/monday results/tuesday --out pages
  analysis merge results/NAME-shard-* --out results/NAME
  analysis verify results/NAME

Exit codes: 0 success; 1 an error, or a report that `verify` finds to differ; 2 wrong input."
)]
struct AnalysisArguments {
    #[command(subcommand)]
    verb: AnalysisVerb,
}

#[derive(Subcommand)]
enum AnalysisVerb {
    /// Report on a sweep or an application (heatmaps, budgets, a verdict), on a search over budgets, on `rr` (what libp2p
    /// adds to TCP) or on a soak (what drifts)
    Report {
        /// The folder of a sweep, a search, `latency-benchmark rr`, a soak or an application, results/NAME
        run: PathBuf,
        /// Open the page that explores the report in a browser
        #[arg(long)]
        open: bool,
        #[command(flatten)]
        options: Options,
    },
    /// Print what to paste into an issue: a table and a few lines, as in comment.md of the report
    Comment {
        /// The folder of a sweep, a search or an application, results/NAME
        run: PathBuf,
        #[command(flatten)]
        options: FigureOptions,
    },
    /// Print whether each variant is `better`, `worse`, `no worse than the margin` or `unknown`, the worst first, and a
    /// table of reasons, as Markdown
    Verdict {
        /// The folder of a sweep or an application, results/NAME
        run: PathBuf,
        #[command(flatten)]
        options: FigureOptions,
    },
    /// Make one page of several sweeps or searches, among which its reader chooses
    Page {
        /// The folders of sweeps and searches, results/NAME
        #[arg(required = true)]
        runs: Vec<PathBuf>,
        #[command(flatten)]
        options: FigureOptions,
    },
    /// Print what a round of a search over budgets is to measure, as JSON; the search asks this
    #[command(hide = true)]
    NextRound {
        /// The folder of a search, results/NAME
        search: PathBuf,
        #[command(flatten)]
        options: FigureOptions,
    },
    /// Compare two sweeps, of different versions or machines, cell by cell, or two runs of an application
    Compare {
        /// The folder of a sweep or of an application
        before: PathBuf,
        /// The folder of another sweep, or of another run of the application
        after: PathBuf,
        #[command(flatten)]
        options: Options,
    },
    /// Write the figures of sweeps as Parquet, a folder for each sweep and metric, for DuckDB, Spark or polars
    Export {
        /// The folders of sweeps, results/NAME
        #[arg(required = true)]
        runs: Vec<PathBuf>,
        #[command(flatten)]
        options: FigureOptions,
    },
    /// Put the parts of a sweep (`--shard`) together, or the same sweep of several hosts, whose launches become launches
    /// of one sweep. Refuses runs of different programs, grids or options
    Merge {
        /// The folders of sweeps or of their parts, results/NAME
        #[arg(required = true)]
        runs: Vec<PathBuf>,
        /// The folder to write, a new one
        #[arg(long, value_name = "RUN")]
        out: PathBuf,
    },
    /// Make the report of a sweep again and compare it with the stored one, number by number and picture by picture. Given
    /// a report with a packed sweep, compare the judged figures and the verdict
    Verify {
        /// The folder of a sweep, or of a report with a packed sweep
        run: PathBuf,
        /// The folder of its report [default: RUN/report]
        #[arg(long, value_name = "DIR")]
        report: Option<PathBuf>,
    },
    /// Pack the data behind the judged figures of a sweep into one small file in the folder of a report, from which `verify`
    /// recomputes them
    Pack {
        /// The folder of a sweep
        run: PathBuf,
        /// The folder of its report, which will have the file `judged.tar.xz`
        report: PathBuf,
    },
}

pub(crate) fn run() -> Result<ExitCode, Failure> {
    let arguments: AnalysisArguments = match program::parse() {
        Ok(arguments) => arguments,
        Err(ended) => return ended,
    };
    check_threads()?;
    match arguments.verb {
        AnalysisVerb::Report { run, open, options } => report::run(&run, &options, open)?,
        AnalysisVerb::Comment { run, options } => comment::run(&run, &options.into())?,
        AnalysisVerb::Verdict { run, options } => verdict::run(&run, &options.into())?,
        AnalysisVerb::Page { runs, options } => page::run(&runs, &options.into())?,
        AnalysisVerb::NextRound { search, options } => {
            let next = Search::open(&search, &options.into())?.next();
            print_line(serde_json::to_string(&next)?);
        }
        AnalysisVerb::Compare {
            before,
            after,
            options,
        } => compare::run([&before, &after], &options)?,
        AnalysisVerb::Export { runs, options } => export::run(&runs, &options.into())?,
        AnalysisVerb::Merge { runs, out } => merge::run(&runs, &out)?,
        AnalysisVerb::Verify { run, report } => verify::run(&run, report.as_deref())?,
        AnalysisVerb::Pack { run, report } => packed::pack(&run, &report)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails if there cannot be as many threads as reading and drawing need. The crates that start them would panic.
fn check_threads() -> Result<()> {
    let threads = 2 * available_parallelism()?.get();
    let gate = RwLock::new(());
    let closed = gate.write();
    thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, || drop(gate.read()));
        let started: Result<Vec<_>, _> = (0..threads).map(start).collect();
        drop(closed);
        started.map(drop)
    })
    .with_context(|| format!("{threads} threads cannot be started (`ulimit -u` is the limit)"))
}
