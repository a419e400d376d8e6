//! A table on disk.

use std::{fs::File, path::Path};

use anyhow::{Context, Result};
use serde::Serialize;

/// A table that grows.
pub(crate) struct Table {
    writer: csv::Writer<File>,
    name: String,
}

impl Table {
    pub(crate) fn create(path: &Path) -> Result<Table> {
        let file =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Table {
            writer: csv::Writer::from_writer(file),
            name: path.display().to_string(),
        })
    }

    pub(crate) fn row(&mut self, row: &impl Serialize) -> Result<()> {
        self.writer
            .serialize(row)
            .with_context(|| format!("cannot write {}", self.name))
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.writer
            .flush()
            .with_context(|| format!("cannot write {}", self.name))
    }

    pub(crate) fn finish(self) -> Result<()> {
        let file = self.writer.into_inner().map_err(|error| error.into_error());
        file.and_then(|file| file.sync_all())
            .with_context(|| format!("cannot write {}", self.name))
    }
}
