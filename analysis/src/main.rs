//! Turns the runs of a sweep into heatmaps, comparisons, a verdict and a report.

mod budget;
mod charts;
mod cli;
mod drift;
mod explain;
mod failure;
mod grid;
mod load;
mod measure;
mod options;
mod published;
mod report;
mod site;
mod stats;
mod summary;
mod text;
mod verbs;
mod verdict;
mod views;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::run(cli::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit_code()
        }
    }
}
