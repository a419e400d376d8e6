//! Changes of files, of which a diff is kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use toml_edit::DocumentMut;

use crate::diff;

pub(crate) fn read_toml(path: &Path) -> Result<DocumentMut> {
    let document = fs::read_to_string(path)?.parse();
    document.with_context(|| format!("cannot parse {}", path.display()))
}

/// The files that were changed, each with its text before the first change.
#[derive(Debug, Default)]
pub struct Edits(BTreeMap<PathBuf, String>);

impl Edits {
    /// Keeps the text of a file that is about to be changed or made.
    pub(crate) fn begin(&mut self, path: PathBuf) {
        let path = fs::canonicalize(&path).unwrap_or(path);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        self.0.entry(path).or_insert(text);
    }

    pub(crate) fn write(&mut self, path: PathBuf, text: &str) -> Result<()> {
        self.begin(path.clone());
        Ok(fs::write(path, text)?)
    }

    /// Changes a manifest or a lock file.
    pub(crate) fn toml(
        &mut self,
        path: PathBuf,
        change: impl FnOnce(&mut DocumentMut),
    ) -> Result<()> {
        let mut document = read_toml(&path)?;
        change(&mut document);
        self.write(path, &document.to_string())
    }

    /// All changes as one diff, with paths relative to `folder`.
    pub(crate) fn diff(&self, folder: &Path) -> Result<String> {
        let mut text = String::new();
        for (path, before) in &self.0 {
            // A diff may have removed the file.
            let after = std::fs::read_to_string(path).unwrap_or_default();
            let below = path.strip_prefix(folder)?.display().to_string();
            text += &diff::file_diff(&below, before, &after);
        }
        Ok(text)
    }
}
