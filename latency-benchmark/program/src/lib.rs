//! How the programs of this workspace read their arguments, print, and end: errors are one line, and the exit
//! code is 2 where the input was wrong.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

#[cfg(feature = "clap")]
mod arguments;
mod failure;
mod interrupts;
mod output;
mod processes;
mod tools;

#[cfg(feature = "clap")]
pub use arguments::parse;
pub use failure::{Failure, bad_input, end, ended, ended_saying, exit_code, last_words, one_line};
pub use interrupts::{count_interrupts, interrupts_seen};
pub use output::{in_words, print, printable, put, say};
pub use processes::{
    Limits, end_group, in_threads, lines, lines_or_end, lock, tail, wait_or_interrupt, wait_within,
};
pub use tools::{SYSTEM_PATH, is_program, program_in, tool, tool_folders, user_tool};
