//! Functions by which all programs here read arguments, start other programs, print, and end: an error is one line, and
//! the exit code is 2 where the input was wrong.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

#[cfg(feature = "clap")]
mod arguments;
#[cfg(feature = "process")]
mod failure;
#[cfg(feature = "process")]
mod interrupts;
#[cfg(feature = "process")]
mod limits;
pub mod number;
#[cfg(feature = "process")]
mod output;
#[cfg(feature = "process")]
mod processes;
#[cfg(feature = "process")]
mod tools;

#[cfg(feature = "clap")]
pub use arguments::parse;
#[cfg(feature = "process")]
pub use {
    failure::{
        Failure, bad_input, end, ended, ended_saying, exit_code, in_one_line, last_words, one_line,
    },
    interrupts::{count_interrupts, interrupts_seen},
    limits::{OrEnd, fail_on_large_files},
    output::{in_words, print, printable, put, say},
    processes::{
        Limits, end_group, in_threads, lines, lines_or_end, lock, tail, wait_or_interrupt,
        wait_within,
    },
    tools::{
        SYSTEM_PATH, find_in, is_program, require_system_tool, system_tool_or_usr_bin,
        tool_folders, user_tool,
    },
};
