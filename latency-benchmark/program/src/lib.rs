//! Functions by which all programs here read arguments, start other programs, print, and end: an error is one line, and
//! the exit code is 2 where the input was wrong.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

#[cfg(feature = "clap")]
mod arguments;
#[cfg(feature = "process")]
mod failure;
#[cfg(feature = "process")]
mod interrupts;
pub mod number;
#[cfg(feature = "process")]
mod output;
#[cfg(feature = "process")]
mod processes;
#[cfg(feature = "process")]
mod tools;
#[cfg(feature = "process")]
mod ulimit;

#[cfg(feature = "clap")]
pub use arguments::parse;
#[cfg(feature = "process")]
pub use {
    failure::{
        Failure, bad_input, exit_code, exit_main, how_it_ended, how_it_ended_and_why, in_one_line,
        last_words, one_line,
    },
    interrupts::{count_interrupts, interrupts_seen},
    output::{eprint_line, in_words, print_line, print_raw, printable},
    processes::{
        ChildLimits, end_group, in_threads, lines, lines_or_end, lock, tail, wait_or_interrupt,
        wait_within,
    },
    tools::{
        SYSTEM_PATH, find_in, is_program, require_system_tool, system_tool_or_usr_bin,
        tool_folders, user_tool,
    },
    ulimit::{EndWhenOutOfMemory, fail_on_large_files},
};
