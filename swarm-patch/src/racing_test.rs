//! Marks tests as ignored in which two clocks race.

use std::path::Path;

use anyhow::{Result, bail};
use fs_err as fs;

/// A test of upstream's that depends on which of two clocks goes off first. It sometimes fails on a busy
/// machine, with and without the graft.
#[derive(Clone, Copy, Debug)]
pub struct RacingTest {
    /// Its file in the crate.
    pub file: &'static str,
    /// Its name, which only one function of the file has.
    pub function: &'static str,
    /// Which clocks race.
    pub reason: &'static str,
}

/// Marks the test as ignored in the copy of the crate in `dir`, so that a test may run it by itself and
/// more than once.
pub(crate) fn ignore(test: &RacingTest, dir: &Path) -> Result<()> {
    let path = dir.join(test.file);
    let text = fs::read_to_string(&path)?;
    let RacingTest { file, function, .. } = test;
    let head = format!("fn {function}(");
    let [(at, _)] = text.match_indices(&head).collect::<Vec<_>>()[..] else {
        let found = text.matches(&head).count();
        bail!("{file}: looked for one test {function}, found {found}");
    };
    let (before, after) = text.split_at(text[..at].rfind('\n').map_or(0, |end| end + 1));
    let ignore = format!("#[ignore = {:?}]\n", test.reason);
    Ok(fs::write(&path, [before, &ignore, after].concat())?)
}
