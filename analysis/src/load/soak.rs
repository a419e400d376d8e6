//! Reads a soak.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use program::{Failure, bad_input};
use run_format::checksums::sha256_of_file;
use run_format::{
    BlockRow, MeasuredSpan, Plausible, RunOutcome, SoakFile, SoakRow, files, read_table,
};

use super::loaded_run::Disturbances;
use super::run::set_aside;
use super::{outside, rows};

/// The length of a row may exceed the time since the last row by this factor, because both are rounded.
const SLACK: f64 = 1.01;

pub(crate) struct Soak {
    pub(crate) dir: PathBuf,
    pub(crate) file: SoakFile,
    /// The rows that were not disturbed, at least one.
    pub(crate) rows: Vec<SoakRow>,
    /// The number of rows that were left out because the machine disturbed them.
    pub(crate) set_aside: Disturbances,
}

impl Soak {
    pub(crate) fn open(dir: &Path) -> Result<Soak, Failure> {
        open(dir).map_err(bad_input)
    }

    pub(crate) fn name(&self) -> String {
        super::folder_name(&self.dir)
    }
}

fn open(dir: &Path) -> Result<Soak> {
    let file: SoakFile = outside::read(&dir.join(files::SOAK))?;
    check_sums(dir, &file)?;
    let rows = read_rows(dir, &file)?;
    let block_rows = read_blocks(dir, &file, &rows)?;
    // A row of a soak is a block.
    let mut numbered: Vec<(u32, SoakRow)> = (1..).zip(rows).collect();
    let disturbances = set_aside(&block_rows, &mut numbered, |(number, _)| *number);
    let undisturbed: Vec<SoakRow> = numbered.into_iter().map(|(_, row)| row).collect();
    if let (true, Some(disturbance)) = (undisturbed.is_empty(), disturbances.keys().next()) {
        let path = dir.join(files::SOAK_ROWS);
        let how = disturbance.clause();
        bail!("{}: every row was disturbed: {how}", path.display());
    }
    Ok(Soak {
        dir: dir.to_owned(),
        rows: undisturbed,
        file,
        set_aside: disturbances,
    })
}

fn check_sums(dir: &Path, file: &SoakFile) -> Result<()> {
    let Some(end) = &file.end else { return Ok(()) };
    for (name, sum) in [
        (files::SOAK_ROWS, &end.sha256),
        (files::BLOCKS, &end.blocks_sha256),
    ] {
        let path = dir.join(name);
        ensure!(
            sum.is_none() || sha256_of_file(&path).ok() == *sum,
            "{}: its checksum is not that in soak.json, so it was changed, or is of another soak",
            path.display()
        );
    }
    Ok(())
}

/// Reads the rows of a soak, of which there is at least one.
fn read_rows(dir: &Path, file: &SoakFile) -> Result<Vec<SoakRow>> {
    let (path, end) = (dir.join(files::SOAK_ROWS), file.end.as_ref());
    let rows: Vec<SoakRow> = match path.exists() {
        true => read_table(&path, end.is_none())?,
        false => Vec::new(),
    };
    let shown = path.display();
    if rows.is_empty() {
        let why = match end.map(|end| &end.outcome) {
            Some(RunOutcome::Invalid { reason } | RunOutcome::Failed { reason, .. }) => reason,
            Some(RunOutcome::Ok { .. }) => "it ended at once",
            None => "it was killed, or goes on",
        };
        bail!("{shown}: not a row was measured ({why})");
    }
    check(&rows, file).with_context(|| shown.to_string())?;
    let count = rows.len() as u64;
    if let Some(said) = end.map(|end| end.rows).filter(|said| *said != count) {
        bail!("{shown}: {count} rows, but soak.json says {said}");
    }
    Ok(rows)
}

/// Reads the rows about blocks, if the soak has them.
fn read_blocks(dir: &Path, file: &SoakFile, rows: &[SoakRow]) -> Result<Vec<BlockRow>> {
    let path = dir.join(files::BLOCKS);
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let block_rows: Vec<BlockRow> = rows::read(dir, file.end.is_none())?;
    for (number, (block_row, row)) in (1..).zip(block_rows.iter().zip(rows)) {
        let span = MeasuredSpan {
            ms: 1e3 * row.interval_s,
            ..MeasuredSpan::UNKNOWN
        };
        block_row
            .check(&span)
            .with_context(|| format!("{}: block {number}", path.display()))?;
    }
    Ok(block_rows)
}

fn check(rows: &[SoakRow], file: &SoakFile) -> Result<()> {
    let took_ms = file.end.as_ref().and_then(|end| end.took_ms);
    let mut before_s = 0.0;
    for (line, row) in (2..).zip(rows) {
        let span = MeasuredSpan {
            ms: 1e3 * row.interval_s,
            turns: 1.0,
            threads: file.config.runtime.threads() as f64,
            took_ms: took_ms.map_or(MeasuredSpan::UNKNOWN.took_ms, |ms| ms as f64),
        };
        let since_s = row.at_s - before_s;
        before_s = row.at_s;
        ensure!(since_s > 0.0, "line {line}: at_s does not go up");
        row.check(&span).with_context(|| format!("line {line}"))?;
        let length_s = row.interval_s;
        ensure!(
            length_s <= SLACK * since_s,
            "line {line}: interval_s is {length_s}, but {since_s} s have passed since the row before"
        );
        let peers = file.config.cell.peers as u64;
        let found = row.peers_connected;
        ensure!(
            found <= peers,
            "line {line}: peers_connected is {found}, of {peers} peers"
        );
        let has_latency = row.latency_p50_ns.is_some();
        ensure!(
            (row.requests > 0) == has_latency && (row.wakes > 0) == row.wake_p50_ns.is_some(),
            "line {line}: there are requests but no latency percentile, or the reverse (wake-ups likewise)"
        );
    }
    Ok(())
}
