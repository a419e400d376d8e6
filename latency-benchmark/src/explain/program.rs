//! Which program the cells are launched with.

use std::path::PathBuf;

use anyhow::{Context, Result};

/// It lies beside this one, and is the same but for its allocator.
const PROGRAM: &str = "latency-benchmark-explain";

/// The program that can count allocations, or this one if it was not built: then that is one kind of
/// evidence less, which is said where the others are.
pub(super) fn that_counts() -> Result<PathBuf> {
    let this = std::env::current_exe().context("cannot find this program's file")?;
    let beside = this.with_file_name(PROGRAM);
    Ok(if beside.is_file() { beside } else { this })
}
