//! Which verb, with which arguments.

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};

use crate::{
    explain,
    failure::{Failure, bad_input},
    soak, sweep, verbs,
};

/// Measures the polls of a libp2p-style swarm over peers × round-trip time × payload.
#[derive(Parser)]
#[command(name = "latency-benchmark", version)]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Measure every cell of a grid, with the budgets taking turns
    Sweep(Box<sweep::args::SweepArgs>),
    /// Find out why the worst cells of a sweep are slow
    Explain(explain::args::ExplainArgs),
    /// Measure what libp2p adds to TCP: small requests and answers, in turns with and without it
    Rr(Box<verbs::rr::RrArgs>),
    /// Measure one cell for hours, as a series over time, while peers come and go
    Soak(Box<soak::args::SoakArgs>),
    /// Be a peer: listen, say where, and serve
    Peer(verbs::peer::PeerArgs),
    /// Be central: dial peers, work them, and measure
    Central(verbs::central::CentralArgs),
    /// Run a command in a lab, in central's namespace
    Lab(verbs::lab::LabArgs),
    /// Say what this machine can and cannot do
    Preflight(verbs::preflight::PreflightArgs),
    /// Measure one cell; the sweep starts this
    #[command(hide = true)]
    Cell,
    /// Delay packets; the lab starts this
    #[command(hide = true)]
    DelayLine,
}

pub(crate) fn run() -> Result<ExitCode, Failure> {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return help_or_one_line(&error),
    };
    match args.verb {
        Verb::Sweep(args) => sweep::run(*args),
        Verb::Explain(args) => explain::run(args),
        Verb::Rr(args) => verbs::rr::run(*args),
        Verb::Soak(args) => soak::run(*args),
        Verb::Peer(args) => verbs::peer::run(args),
        Verb::Central(args) => verbs::central::run(args),
        Verb::Lab(args) => verbs::lab::run(args),
        Verb::Preflight(args) => verbs::preflight::run(&args),
        Verb::Cell => verbs::cell::run(),
        Verb::DelayLine => verbs::lab::delay_line(),
    }
}

/// Clap's errors in one line; its help as it is.
fn help_or_one_line(error: &clap::Error) -> Result<ExitCode, Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that went away is no failure.
            let _ = error.print();
            Ok(ExitCode::SUCCESS)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let verbs: Vec<String> = Args::command()
                .get_subcommands()
                .filter(|verb| !verb.is_hide_set())
                .map(|verb| verb.get_name().to_owned())
                .collect();
            Err(bad_input(anyhow!(
                "a verb is missing: {} (see --help)",
                verbs.join(", ")
            )))
        }
        _ => {
            let text = error.render().to_string();
            let first = ["\n\nUsage", "\n\nFor more", "\n\n  tip"]
                .iter()
                .filter_map(|end| text.find(end))
                .min();
            let text = &text[..first.unwrap_or(text.len())];
            Err(bad_input(anyhow!(
                "{}",
                text.trim_start_matches("error: ").to_owned()
            )))
        }
    }
}
