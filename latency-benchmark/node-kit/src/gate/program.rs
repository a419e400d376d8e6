//! The main function of programs that count for `--gate`. It is the same for every network stack.

use std::env;
use std::process::ExitCode;

use anyhow::{Context, Result};
use program::{Failure, bad_input, print_line};
use run_format::{GateCounts, GateTask};

use super::fixed;

/// Makes a whole program that counts for `--gate`. `$run` gets the cell, and a function that makes time stand still.
///
/// The program has an allocator that can count, and random numbers and time that are the same in every run. For that it
/// replaces functions of the C library, which std, tokio and every version of the crate getrandom call. This is a macro
/// because a library would replace them in every program that links it.
#[macro_export]
macro_rules! gate_program {
    ($run:path) => {
        use std::ffi::{c_int, c_uint, c_void};

        use $crate::gate::fixed::{clockid_t, epoll_event, timespec};

        $crate::counting_program!($crate::gate::main($run));

        #[unsafe(no_mangle)]
        unsafe extern "C" fn getrandom(to: *mut c_void, length: usize, _: c_uint) -> isize {
            // SAFETY: the caller has a buffer of that length.
            unsafe { $crate::gate::fixed::getrandom(to, length) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn clock_gettime(clock: clockid_t, to: *mut timespec) -> c_int {
            // SAFETY: the arguments are the caller's.
            unsafe { $crate::gate::fixed::clock_gettime(clock, to) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn epoll_wait(
            epoll: c_int,
            events: *mut epoll_event,
            most: c_int,
            timeout_ms: c_int,
        ) -> c_int {
            // SAFETY: the arguments are the caller's.
            unsafe { $crate::gate::fixed::epoll_wait(epoll, events, most, timeout_ms) }
        }
    };
}

/// Prints the counts of the cell that is the program's argument.
pub fn main(run: fn(&GateTask, fn()) -> Result<GateCounts>) -> ExitCode {
    program::exit_main(print_counts(run))
}

fn print_counts(run: fn(&GateTask, fn()) -> Result<GateCounts>) -> Result<ExitCode, Failure> {
    let text = env::args().nth(1).unwrap_or_default();
    let task: GateTask = serde_json::from_str(&text)
        .context(
            "the argument is not the task of a cell; this program is started by latency-benchmark",
        )
        .map_err(bad_input)?;
    let counts = run(&task, fixed::hold_time)?;
    print_line(serde_json::to_string(&counts)?);
    Ok(ExitCode::SUCCESS)
}
