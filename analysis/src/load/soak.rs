//! A soak on disk.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use program::{Failure, bad_input};
use run_format::checksums::of_file;
use run_format::{BlockRow, End, SoakFile, SoakRow, files, read_table};

use super::loaded_run::Disturbances;
use super::run::set_aside;
use super::{outside, rows};

pub(crate) struct Soak {
    pub(crate) dir: PathBuf,
    pub(crate) file: SoakFile,
    /// At least one.
    pub(crate) rows: Vec<SoakRow>,
    /// Rows that are not there because the machine disturbed them.
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
    let path = dir.join(files::SOAK_ROWS);
    let end = file.end.as_ref();
    let sums = end.map(|end| {
        [
            (files::SOAK_ROWS, &end.sha256),
            (files::BLOCKS, &end.blocks_sha256),
        ]
    });
    for (name, sum) in sums.into_iter().flatten() {
        let path = dir.join(name);
        ensure!(
            sum.is_none() || of_file(&path).ok() == *sum,
            "{}: its checksum is not that in soak.json, so it was changed, or is of another soak",
            path.display()
        );
    }
    let rows: Vec<SoakRow> = match path.exists() {
        true => read_table(&path, end.is_none())?,
        false => Vec::new(),
    };
    let shown = path.display();
    if rows.is_empty() {
        let why = match end.map(|end| &end.end) {
            Some(End::Invalid { reason } | End::Failed { reason, .. }) => reason,
            Some(End::Ok { .. }) => "it ended at once",
            None => "it was killed, or goes on",
        };
        bail!("{shown}: not a row was measured ({why})");
    }
    check(&rows).with_context(|| shown.to_string())?;
    let count = rows.len() as u64;
    if let Some(said) = end.map(|end| end.rows).filter(|said| *said != count) {
        bail!("{shown}: {count} rows, but soak.json says {said}");
    }
    let machine: Vec<BlockRow> = match dir.join(files::BLOCKS).is_file() {
        true => rows::read(dir, end.is_none())?,
        false => Vec::new(),
    };
    // A row is a block.
    let mut numbered: Vec<(u32, SoakRow)> = (1..).zip(rows).collect();
    let set_aside = set_aside(&machine, &mut numbered, |(number, _)| *number);
    let rows: Vec<SoakRow> = numbered.into_iter().map(|(_, row)| row).collect();
    if let (true, Some(disturbance)) = (rows.is_empty(), set_aside.keys().next()) {
        let how = disturbance.words();
        bail!("{shown}: every row was disturbed: {how}");
    }
    Ok(Soak {
        dir: dir.to_owned(),
        rows,
        file,
        set_aside,
    })
}

fn check(rows: &[SoakRow]) -> Result<()> {
    let mut before_s = None;
    for (at, row) in rows.iter().enumerate() {
        let line = at + 2;
        let of_connections = (row.connection_slow_polls, row.connection_polls);
        let of_tasks = [row.task_slow_polls, row.task_polls].map(Option::unwrap_or_default);
        for ((part, whole), name, of) in [
            (of_connections, "connection_slow_polls", "connection_polls"),
            (of_tasks.into(), "task_slow_polls", "task_polls"),
            ((row.late_wakes, row.wakes), "late_wakes", "wakes"),
        ] {
            ensure!(part <= whole, "line {line}: {name} is more than {of}");
        }
        ensure!(
            row.interval_s > 0.0,
            "line {line}: interval_s is not above zero"
        );
        let is_later = before_s.replace(row.at_s) < Some(row.at_s);
        ensure!(is_later, "line {line}: at_s does not go up");
    }
    Ok(())
}
