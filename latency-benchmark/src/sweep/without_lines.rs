//! Whose fault it is that a subject failed: its program is built once more without the inserted lines, and launched once.
//! Only whether requests are answered is known of it.

use std::path::Path;

use anyhow::Result;
use fs_err as fs;
use run_format::config::RunConfig;
use run_format::files::{RUN, without_lines};
use run_format::run_row::RunRow;

use super::running::RunningSweep;

/// Returns whether to go on.
pub(super) fn launch(sweep: &RunningSweep<'_>) -> Result<bool> {
    let failed = std::mem::take(&mut sweep.state().failed);
    let (session, config) = (&sweep.session, sweep.config);
    for run in failed.into_values() {
        let number = run.subject.unwrap_or(0);
        let label = &config.subjects[number].label;
        let dir = session.folder.path.join(without_lines(number));
        // A host of peers has only the programs of the sweep.
        if dir.join(RUN).exists() || config.lab.peer_hosts.is_some() {
            continue;
        }
        session.progress.line(&format!(
            "{label} failed; it is built and launched once without the inserted lines"
        ));
        match launch_one(sweep, run, number, &dir) {
            Ok(Some(row)) if session.goes_on_after(&row) => {
                row.write(&dir)?;
                let line = format!("{label} {}", row.end.without_lines());
                session.progress.line(&line);
            }
            Ok(_) => return Ok(false),
            Err(error) => session.progress.warn(&format!(
                "{label} cannot be launched without the inserted lines: {error:#}"
            )),
        }
    }
    Ok(true)
}

/// None after a second interrupt.
fn launch_one(
    sweep: &RunningSweep<'_>,
    mut run: RunConfig,
    number: usize,
    dir: &Path,
) -> Result<Option<RunRow>> {
    const LONGEST_MS: u64 = 2000;
    let subject = &sweep.config.subjects[number];
    let program = sweep.programs.without_lines(subject)?;
    let peer = match subject.peers == number {
        true => &program,
        false => sweep.programs.peer(Some(number)),
    };
    if dir.exists() {
        fs::remove_dir_all(dir)?; // It was interrupted.
    }
    fs::create_dir_all(dir)?;
    run.beside = 0;
    run.variants.truncate(1);
    run.plan.max_ms = run.plan.max_ms.min(LONGEST_MS);
    let programs = (program.as_path(), peer);
    sweep.session.measure(run, programs, dir, None, |_| Ok(()))
}
