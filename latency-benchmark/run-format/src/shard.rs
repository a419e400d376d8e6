//! A part of a sweep, for one of several machines.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The part `index`, from 1, of `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    pub index: u32,
    pub of: u32,
}

impl Shard {
    /// The folder of this part of a sweep.
    pub fn folder(self, sweep: &Path) -> PathBuf {
        let name = sweep.file_name().unwrap_or_default().to_string_lossy();
        sweep.with_file_name(format!("{name}-shard-{}-of-{}", self.index, self.of))
    }

    pub fn all(self) -> impl Iterator<Item = Shard> {
        (1..=self.of).map(move |index| Shard { index, ..self })
    }
}
