//! The verb `verify`. It makes the report again from what was measured, and compares both.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::{fs, io};

use anyhow::{Context, anyhow};
use csv::StringRecord;
use program::{Failure, bad_input, print_line, reject};
use run_format::files::{read, read_json};
use run_format::search;

use crate::load::{CellRuns, FolderKind, Sweep};
use crate::make::make;
use crate::new_folder::RECORD;
use crate::packed;
use crate::report::markdown::VERDICT;
use crate::report_folder::{self, ReportRecord, TEXT};
use crate::summary::table;

pub(crate) fn run(run: &Path, report: Option<&Path>) -> Result<(), Failure> {
    if run.join(packed::FILE).is_file() {
        return verify_packed(run);
    }
    let dir = report.map_or_else(|| run.join("report"), Path::to_path_buf);
    let folders = match FolderKind::find(run) {
        FolderKind::Search => search::folders(run),
        _ => vec![run.to_path_buf()],
    };
    let opened = folders.iter().map(|dir| Sweep::open(dir));
    let sweeps: Vec<Sweep> = opened.collect::<Result<_, _>>()?;
    let record = record(&dir)?;
    if record.verb != "report" {
        let (dir, verb) = (dir.display(), &record.verb);
        reject!(
            "{dir}: a report of `{verb}`; only those of `report` can be made again from one run"
        );
    }
    let name = record.inputs.first().map(String::as_str);
    let content = make(run, name, &record.options)?;
    let (figures, pictures) = (content.table.rows, content.pictures.len());
    let files = content.files.len();
    let made = format!("{figures} figures, the text, {pictures} pictures and {files} other files");
    let again = tempfile::tempdir().context("cannot make a temporary folder")?;
    report_folder::fill(again.path(), &content)?;
    same_folder(again.path(), &dir)?;
    sweeps.iter().try_for_each(only_its_files)?;
    let (dir, run) = (dir.display(), run.display());
    print_line(format!("{dir}: {made} agree with {run}"));
    Ok(())
}

fn record(dir: &Path) -> Result<ReportRecord, Failure> {
    let record: ReportRecord = read_json(&dir.join(RECORD)).map_err(bad_input)?;
    record.check_version(dir)?;
    Ok(record)
}

/// Compares the verdict and the judged figures of a report with its packed sweep, which has no other figures.
fn verify_packed(dir: &Path) -> Result<(), Failure> {
    let record = record(dir)?;
    let packed = dir.join(packed::FILE);
    let sweep = packed::unpack(&packed)?;
    let name = record.inputs.first().map(String::as_str);
    let content = make(sweep.path(), name, &record.options)?;
    let (figures, text) = (dir.join(table::FILE), dir.join(TEXT));
    let stored = Figures::parse(&read(&figures).map_err(bad_input)?)?;
    let made = Figures::parse(&content.table.text)?;
    let judged: BTreeSet<_> = made.keys().collect();
    let with_key = stored.rows.iter().zip(stored.keys());
    let mut comparable = with_key
        .filter(|(_, key)| judged.contains(key))
        .map(|(row, _)| row);
    let differing = made.rows.iter().find(|row| comparable.next() != Some(row));
    if let Some(row) = differing.or(comparable.next()) {
        let row = row.iter().collect::<Vec<_>>().join(",");
        let how = format!("it and {} do not both have the row {row}", packed::FILE);
        return Err(differs(&figures, &how));
    }
    let written = String::from_utf8_lossy(&read(&text).map_err(bad_input)?).into_owned();
    let mut found = first_screen(&written);
    if let Some(line) = first_screen(&content.text).find(|line| found.next() != Some(*line)) {
        return Err(differs(&text, &format!("it does not say: {line}")));
    }
    let (dir, figures) = (dir.display(), made.rows.len());
    let (kinds, packed) = (judged.len(), packed.display());
    print_line(format!(
        "{dir}: the verdict and {figures} figures of {kinds} kinds agree with {packed}"
    ));
    Ok(())
}

/// The verdict and its tables, up to the first picture.
fn first_screen(report: &str) -> impl Iterator<Item = &str> {
    let lines = report.lines().skip_while(|line| !line.starts_with(VERDICT));
    lines.take_while(|line| !line.starts_with("!["))
}

/// The rows of `summary.csv`.
struct Figures {
    rows: Vec<StringRecord>,
    /// The positions of the columns `site` and `metric`.
    key: [usize; 2],
}

impl Figures {
    fn parse(text: &[u8]) -> Result<Figures, Failure> {
        let mut reader = csv::Reader::from_reader(text);
        let header = reader.headers().context(table::FILE)?;
        let position = |name: &str| {
            let found = header.iter().position(|column| column == name);
            found.with_context(|| format!("{}: it has no column {name}", table::FILE))
        };
        let key = [
            position("site").map_err(bad_input)?,
            position("metric").map_err(bad_input)?,
        ];
        let rows: Result<_, csv::Error> = reader.records().collect();
        Ok(Figures {
            rows: rows.context(table::FILE)?,
            key,
        })
    }

    /// The site and the metric of each row.
    fn keys(&self) -> impl Iterator<Item = [Option<String>; 2]> {
        let rows = self.rows.iter();
        rows.map(|row| self.key.map(|column| row.get(column).map(str::to_owned)))
    }
}

/// A report that differs is no wrong input, so the exit code is 1.
fn differs(path: &Path, how: &str) -> Failure {
    anyhow!("{}: {how}", path.display()).into()
}

/// Fails with the name of a file that does not belong to the report, or of the first one that is missing or differs. Figures
/// are compared first, then the text. The same evidence gives the same bytes on every machine.
fn same_folder(made: &Path, found: &Path) -> Result<(), Failure> {
    let names = |dir: &Path| -> io::Result<BTreeSet<OsString>> {
        let entries = fs::read_dir(dir)?;
        entries.map(|entry| Ok(entry?.file_name())).collect()
    };
    let known = names(made)?;
    if let Some(stray) = names(found)?.difference(&known).next() {
        let how = "it does not belong to the report";
        return Err(differs(&found.join(stray), how));
    }
    let mut sorted: Vec<OsString> = known.into_iter().collect();
    sorted.sort_by_key(|name| (name != table::FILE, name != TEXT));
    for name in sorted {
        let (made, found) = (made.join(&name), found.join(&name));
        if !found.exists() {
            return Err(differs(&found, "it is missing"));
        }
        if made.is_dir() {
            same_folder(&made, &found)?;
            continue;
        }
        let [new, old] = [fs::read(&made)?, read(&found).map_err(bad_input)?];
        if new != old {
            let how = how_different(&found, &old, &new);
            return Err(differs(&found, &how));
        }
    }
    Ok(())
}

fn how_different(path: &Path, old: &[u8], new: &[u8]) -> String {
    let ending = path.extension();
    let has_lines = ending.is_some_and(|ending| ending == "csv" || ending == "md");
    let [old, new] = [old, new].map(String::from_utf8_lossy);
    let mut lines = (1..).zip(old.lines().zip(new.lines()));
    match lines.find(|(_, (old, new))| old != new) {
        Some((line, (old, new))) if has_lines => {
            format!("line {line}: {old:?}, but the run gives {new:?}")
        }
        _ => "it is not what the run gives".to_owned(),
    }
}

fn only_its_files(sweep: &Sweep) -> Result<(), Failure> {
    for run in sweep.cells.iter().flat_map(CellRuns::all) {
        if let Some(stray) = run.check_files()?.first() {
            let how = "it does not belong to the run";
            return Err(differs(&run.dir.join(stray), how));
        }
    }
    Ok(())
}
