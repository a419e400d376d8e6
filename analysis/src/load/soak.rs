//! A soak on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use program::{Failure, bad_input};
use run_format::checksums::of_file;
use run_format::files;
use run_format::run_row::End;
use run_format::soak::{SoakFile, SoakRow};
use run_format::table::read_table;
use run_format::tables::BlockRow;

use super::blocks::{Disturbances, set_aside};
use super::{outside, rows};

pub(crate) const AT: &str = "at_s";
pub(crate) const INTERVAL: &str = "interval_s";

pub(crate) struct Soak {
    pub(crate) dir: PathBuf,
    pub(crate) file: SoakFile,
    /// At least one.
    pub(crate) rows: SoakColumns,
    /// Rows that are not there because the machine disturbed them, and those that nevertheless are.
    pub(crate) set_aside: Disturbances,
    pub(crate) kept: Disturbances,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SoakColumns(BTreeMap<String, Vec<Option<f64>>>);

impl SoakColumns {
    fn of_rows(rows: &[SoakRow]) -> Result<SoakColumns> {
        let mut columns = BTreeMap::<String, Vec<Option<f64>>>::new();
        for row in rows {
            let fields = serde_json::to_value(row)?;
            for (name, value) in fields.as_object().into_iter().flatten() {
                let column = columns.entry(name.clone()).or_default();
                column.push(value.as_f64());
            }
        }
        Ok(SoakColumns(columns))
    }

    /// None in a column is a value that was not measured.
    pub(crate) fn column(&self, name: &str) -> &[Option<f64>] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn len(&self) -> usize {
        self.column(AT).len()
    }

    pub(crate) fn last_s(&self) -> f64 {
        self.column(AT).last().copied().flatten().unwrap_or(0.0)
    }
}

impl Soak {
    pub(crate) fn open(dir: &Path, keeps_disturbed: bool) -> Result<Soak, Failure> {
        open(dir, keeps_disturbed).map_err(bad_input)
    }

    pub(crate) fn name(&self) -> String {
        super::folder_name(&self.dir)
    }
}

fn open(dir: &Path, keeps_disturbed: bool) -> Result<Soak> {
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
    let has_blocks = dir.join(files::BLOCKS).is_file();
    let machine: Option<Vec<BlockRow>> = has_blocks
        .then(|| rows::read(dir, end.is_none()))
        .transpose()?;
    let machine = machine.unwrap_or_default();
    let runtime = (!keeps_disturbed).then_some(&file.config.runtime);
    // A row is a block.
    let mut numbered: Vec<(u32, SoakRow)> = (1..).zip(rows).collect();
    let (set_aside, kept) = set_aside(&machine, runtime, &mut numbered, |(number, _)| *number);
    let rows: Vec<SoakRow> = numbered.into_iter().map(|(_, row)| row).collect();
    if let (true, Some(disturbance)) = (rows.is_empty(), set_aside.keys().next()) {
        let how = disturbance.words();
        bail!("{shown}: every row was disturbed: {how}");
    }
    Ok(Soak {
        dir: dir.to_owned(),
        rows: SoakColumns::of_rows(&rows)?,
        file,
        set_aside,
        kept,
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
            "line {line}: {INTERVAL} is not above zero"
        );
        let is_later = before_s.replace(row.at_s) < Some(row.at_s);
        ensure!(is_later, "line {line}: {AT} does not go up");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::SoakColumns;

    impl SoakColumns {
        pub(crate) fn of(
            columns: impl IntoIterator<Item = (&'static str, Vec<Option<f64>>)>,
        ) -> SoakColumns {
            let named = columns.into_iter();
            SoakColumns(named.map(|(name, of)| (name.to_owned(), of)).collect())
        }
    }
}
