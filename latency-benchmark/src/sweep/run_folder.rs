//! The folders of runs: `cells/CELL/run-1`, or `cells/CELL/s0-run-1` where subjects are compared. A run is written into
//! `run-1.partial`, which becomes `run-1` when all of it is there. No such folder is ever overwritten. What a killed sweep
//! left behind stays as `run-1.killed-1`, and a run that failed and is measured again stays as `run-1.failed-1`. Launches
//! that take turns are measured again together, and a good run among them stays as `run-1.replaced-1`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;
use run_format::RunRow;
use run_format::files::{CELLS, RUN, read_document, run_folder};

pub(crate) struct RunFolder {
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
}

impl RunFolder {
    pub(crate) fn new(out: &Path, cell: &str, run: u32, subject: Option<usize>) -> RunFolder {
        RunFolder {
            folder: out.join(CELLS).join(cell),
            name: run_folder(run, subject),
        }
    }

    pub(crate) fn done(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    fn partial(&self) -> PathBuf {
        self.folder.join(format!("{}.partial", self.name))
    }

    pub(crate) fn measured(&self) -> Option<RunRow> {
        let row: Option<RunRow> = read_document(&self.done().join(RUN)).ok();
        row.filter(RunRow::is_measured)
    }

    /// Makes an empty folder to write into. A folder that is in the way gets another name.
    pub(crate) fn begin(&self) -> Result<PathBuf> {
        let partial = self.partial();
        self.set_aside(&partial, "killed")?;
        self.set_aside(&self.done(), "failed")?;
        fs::create_dir_all(&partial)?;
        Ok(partial)
    }

    /// Renames `dir` if it exists. Returns its new path.
    pub(crate) fn set_aside(&self, dir: &Path, why: &str) -> Result<Option<PathBuf>> {
        if !dir.exists() {
            return Ok(None);
        }
        let mut names =
            (1..).map(|number| self.folder.join(format!("{}.{why}-{number}", self.name)));
        let free = names.find(|path| !path.exists()).unwrap_or_default();
        fs::rename(dir, &free)?;
        Ok(Some(free))
    }

    /// Writes `run.json`. If the run `is_over`, the folder gets its final name.
    pub(crate) fn finish(&self, row: &RunRow, is_over: bool) -> Result<()> {
        let partial = self.partial();
        row.write(&partial)?;
        if !is_over {
            return Ok(());
        }
        let done = self.done();
        fs::rename(&partial, &done)?;
        // The new name survives a crash once the parent folder is on disk.
        let folder = done.parent().unwrap_or(&self.folder);
        Ok(fs::File::open(folder)?.sync_all()?)
    }
}
