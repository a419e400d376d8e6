//! The timer of programs that count for `--gate`. It takes the place of the crate futures-timer, whose timer is a thread, so
//! that the time at which it fires would depend on the machine.

use std::path::PathBuf;

use anyhow::Result;
use fs_err as fs;

use crate::crate_dir::CrateDir;

/// Writes the crate that takes the place of futures-timer to the new folder `dir`.
pub(super) fn write(dir: PathBuf) -> Result<CrateDir> {
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("Cargo.toml"), include_str!("inserted/Cargo.toml"))?;
    fs::write(dir.join("lib.rs"), include_str!("inserted/lib.rs"))?;
    CrateDir::new("futures-timer", "", dir)
}
