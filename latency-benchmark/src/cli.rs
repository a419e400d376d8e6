//! The command line: its verbs and their arguments.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use program::{Failure, count_interrupts, interrupts_seen};

use crate::progress::INTERRUPTED;
use crate::{bundle, cell, explain, lab_verb, rr, soak, sweep_verb};

/// Measures the polls of a swarm of nodes over peers × round-trip time × payload.
#[derive(Parser)]
#[command(name = "latency-benchmark", version, propagate_version = true)]
struct BenchmarkCli {
    #[command(subcommand)]
    verb: BenchmarkVerb,
}

#[derive(Subcommand)]
enum BenchmarkVerb {
    /// Measure a grid of cells and write a report (./sweep.sh runs this)
    ///
    /// A node, central, is connected to N peers. A cell is a number of peers, a round-trip time and a payload. A launch
    /// starts the processes of a cell. Then its variants take turns. A variant is a budget in one process, or a process of
    /// its own. A site is a function whose polls are recorded: connection is Connection::poll, muxer yamux's loop, task a
    /// connection's task (see analysis/README.md).
    Sweep(Box<sweep_verb::SweepVerbArgs>),
    /// Find out why the worst cells of a sweep are slow
    Explain(explain::args::ExplainArgs),
    /// Compare small requests over libp2p with the same requests over plain TCP
    Rr(Box<rr::RrArgs>),
    /// Measure one cell for hours, as a series over time, while peers are restarted
    Soak(Box<soak::SoakArgs>),
    /// Run a command in a lab, in central's namespace
    Lab(lab_verb::LabArgs),
    /// List what this machine can and cannot do
    Preflight(lab_verb::PreflightArgs),
    /// Run the two sweeps of an unpacked bundle; its run.sh starts this
    #[command(hide = true)]
    Bundled(bundle::BundledArgs),
    /// Measure one cell; the sweep starts this
    #[command(hide = true)]
    Cell,
    /// Delay packets; the lab starts this
    #[command(hide = true)]
    DelayLine,
}

pub(crate) fn run() -> Result<ExitCode, Failure> {
    let args: BenchmarkCli = match program::parse() {
        Ok(args) => args,
        Err(end) => return end,
    };
    let code = match args.verb {
        BenchmarkVerb::Sweep(args) => counting_interrupts(|| sweep_verb::run(*args)),
        BenchmarkVerb::Explain(args) => counting_interrupts(|| explain::run(args)),
        BenchmarkVerb::Rr(args) => counting_interrupts(|| rr::run(*args)),
        BenchmarkVerb::Soak(args) => counting_interrupts(|| soak::run(*args)),
        BenchmarkVerb::Lab(args) => lab_verb::run(args),
        BenchmarkVerb::Preflight(args) => lab_verb::preflight(&args),
        BenchmarkVerb::Bundled(args) => counting_interrupts(|| bundle::run(&args)),
        BenchmarkVerb::Cell => cell::run(),
        BenchmarkVerb::DelayLine => lab_verb::delay_line(),
    }?;
    Ok(ExitCode::from(code))
}

/// Runs a verb while interrupts are counted and do not end the process, so that the verb can finish its slice. If it fails
/// after an interrupt, the exit code says that it was interrupted, because the same Ctrl-C may have ended a build.
fn counting_interrupts(verb: impl FnOnce() -> Result<u8, Failure>) -> Result<u8, Failure> {
    count_interrupts()?;
    verb().map_err(|failure| match interrupts_seen() {
        0 => failure,
        _ => Failure {
            code: INTERRUPTED,
            ..failure
        },
    })
}
