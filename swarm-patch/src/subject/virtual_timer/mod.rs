//! The timer of programs that count for `--gate`. The crate futures-timer has a thread, so its times are those of the
//! machine.

use std::path::Path;

use anyhow::Result;
use fs_err as fs;

/// The crate whose place it takes.
pub(super) const NAME: &str = "futures-timer";

const FILES: [(&str, &str); 2] = [
    ("Cargo.toml", include_str!("inserted/Cargo.toml")),
    ("lib.rs", include_str!("inserted/lib.rs")),
];

/// Writes the crate to a new folder.
pub(super) fn write(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir)?;
    FILES
        .iter()
        .try_for_each(|(name, text)| Ok(fs::write(dir.join(name), text)?))
}
