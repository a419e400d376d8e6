//! The folders of runs: `cells/CELL/run-1`, or `cells/CELL/s0-run-1` where subjects are compared. A run
//! is written into `run-1.partial`, which becomes `run-1` when all of it is there. Nothing is ever
//! overwritten: what a killed sweep left behind stays, as `run-1.killed-1`, and so does a run that failed
//! and is done again, as `run-1.failed-1`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use run_format::{
    files::{CELLS, RUN, alone, read_json, run_folder},
    run_row::RunRow,
};

/// Where one run is written.
#[derive(Clone, Debug)]
pub(crate) struct RunDir {
    folder: PathBuf,
    name: String,
}

impl RunDir {
    pub(crate) fn new(out: &Path, cell: &str, run: u32, subject: Option<usize>) -> RunDir {
        RunDir {
            folder: out.join(CELLS).join(cell),
            name: run_folder(run, subject),
        }
    }

    /// The same run, alone.
    pub(super) fn alone(self) -> RunDir {
        RunDir {
            name: alone(&self.name),
            ..self
        }
    }

    pub(crate) fn done(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    pub(crate) fn partial(&self) -> PathBuf {
        self.folder.join(format!("{}.partial", self.name))
    }

    /// How it ended, if it has.
    pub(crate) fn row(&self) -> Option<RunRow> {
        read_json(&self.done().join(RUN)).ok()
    }

    /// An empty folder to write into. What is in the way is kept under another name.
    pub(crate) fn begin(&self) -> Result<PathBuf> {
        self.set_aside(&self.partial(), "killed")?;
        self.set_aside(&self.done(), "failed")?;
        let partial = self.partial();
        fs::create_dir_all(&partial)
            .with_context(|| format!("cannot create {}", partial.display()))?;
        Ok(partial)
    }

    fn set_aside(&self, dir: &Path, why: &str) -> Result<()> {
        if !dir.exists() {
            return Ok(());
        }
        let mut names =
            (1..).map(|number| self.folder.join(format!("{}.{why}-{number}", self.name)));
        let free = names.find(|path| !path.exists()).unwrap_or_default();
        fs::rename(dir, &free).with_context(|| format!("cannot rename {}", dir.display()))
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
