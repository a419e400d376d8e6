//! Turns the runs of a sweep into heatmaps, comparisons, a verdict and a report.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))] // Both panic if nobody reads.

mod charts;
mod cli;
mod drift;
mod explain;
mod load;
mod make;
mod measure;
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
