//! The folders of runs: `cells/CELL/run-1`. A run is written into `run-1.partial`, which becomes
//! `run-1` when all of it is there. Nothing is ever overwritten: what a killed sweep left behind
//! stays, as `run-1.killed-1`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::{CELLS, RUN};

/// Where one run is written.
#[derive(Clone, Debug)]
pub(crate) struct RunDir {
    folder: PathBuf,
    run: u32,
}

impl RunDir {
    pub(crate) fn new(out: &Path, cell: &str, run: u32) -> RunDir {
        RunDir {
            folder: out.join(CELLS).join(cell),
            run,
        }
    }

    pub(crate) fn done(&self) -> PathBuf {
        self.folder.join(format!("run-{}", self.run))
    }

    pub(crate) fn partial(&self) -> PathBuf {
        self.folder.join(format!("run-{}.partial", self.run))
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done().join(RUN).is_file()
    }

    /// An empty folder to write into.
    pub(crate) fn begin(&self) -> Result<PathBuf> {
        let partial = self.partial();
        if partial.exists() {
            let mut killed = (1..).map(|number| {
                self.folder
                    .join(format!("run-{}.killed-{number}", self.run))
            });
            let free = killed.find(|path| !path.exists()).unwrap_or_default();
            fs::rename(&partial, &free)
                .with_context(|| format!("cannot rename {}", partial.display()))?;
        }
        fs::create_dir_all(&partial)
            .with_context(|| format!("cannot create {}", partial.display()))?;
        Ok(partial)
    }

    /// Gives the folder its name.
    pub(crate) fn finish(&self) -> Result<()> {
        let (partial, done) = (self.partial(), self.done());
        fs::rename(&partial, &done)
            .with_context(|| format!("cannot rename {}", partial.display()))?;
        // A name is durable when the folder that it is in is.
        let folder = fs::File::open(&self.folder).and_then(|folder| folder.sync_all());
        folder.with_context(|| format!("cannot sync {}", self.folder.display()))
    }
}
