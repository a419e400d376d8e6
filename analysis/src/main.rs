//! Turns the runs of a sweep into heatmaps, comparisons, a verdict and a report.

mod budget;
mod charts;
mod cli;
mod drift;
mod explain;
mod load;
mod measure;
mod options;
mod published;
mod report;
mod search;
mod site;
mod stats;
mod summary;
mod text;
mod verbs;
mod verdict;
mod views;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::end(cli::run())
}
