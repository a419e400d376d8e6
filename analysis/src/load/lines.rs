//! A file of lines, the last of which may be torn.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};

/// All whole lines. A torn last one is left out if whoever wrote the file did not come to an end, and is
/// else an error.
pub(super) fn whole(path: &Path, may_be_torn: bool) -> Result<Vec<u8>> {
    let mut text = fs::read(path).with_context(|| path.display().to_string())?;
    let last = text.iter().rposition(|byte| *byte == b'\n');
    let end = last.map_or(0, |at| at + 1);
    if end < text.len() && !may_be_torn {
        bail!("{}: the last line is torn", path.display());
    }
    text.truncate(end);
    Ok(text)
}
