//! Turns the runs of a sweep into heatmaps, comparisons, a verdict and a report. These are the modules, in the order in which
//! the verb `report` uses them:
//!
//! ```text
//! cli, options, verbs    the command line; one file for each verb
//! load                   reads and refuses files
//! metrics                figures of one cell         ┐ stats has their
//! summary                figures over all cells      │ intervals
//! verdict                which candidate helps       ┘
//! explain, search, drift evidence of slow polls; searches; soaks
//! views → charts         chooses pictures → draws them
//! report, page           text and page, from templates/ (prose, text)
//! make → report_folder   calls all of these → writes the folder (packed: the small archive)
//! ```
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))] // Both panic if nobody reads.

mod charts;
mod cli;
mod drift;
mod explain;
mod load;
mod make;
mod metrics;
mod new_folder;
mod options;
mod packed;
mod page;
mod prose;
mod report;
mod report_folder;
mod report_kind;
mod search;
mod site;
mod stats;
mod summary;
mod text;
mod verbs;
mod verdict;
mod views;

use std::process::ExitCode;

#[global_allocator]
static MEMORY: program::EndWhenOutOfMemory = program::EndWhenOutOfMemory;

fn main() -> ExitCode {
    program::fail_on_large_files();
    program::exit_main(cli::run())
}
