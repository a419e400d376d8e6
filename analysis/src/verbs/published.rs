//! The verb `published`. It reports on a table in the format of the first published benchmark.

use std::path::Path;

use program::Failure;

use crate::new_folder::refuse_inside;
use crate::options::Options;
use crate::report::markdown::Frame;
use crate::report::published;
use crate::report_folder::{self, Content, ReportRecord};
use crate::summary::{CsvTable, tables};
use crate::verdict::Verdict;
use crate::views::Scene;

pub(crate) fn run(path: &Path, options: &Options) -> Result<(), Failure> {
    let summary = crate::published::read(path, options)?;
    let verdict = Verdict::new(&summary, options);
    let pictures = Scene::new(&summary, &verdict, options).entries();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let out = options.out(path.with_file_name(format!("{stem}-report")));
    refuse_inside(&out, [path])?;
    let in_short = published::sentences(&summary, summary.first_site(options), 0);
    let content = Content {
        table: CsvTable::write(tables(&summary, options))?,
        text: published::text(&summary, Frame::new(&in_short, &pictures, options)),
        on_terminal: in_short,
        pictures,
        files: Vec::new(),
        page: None,
        record: ReportRecord::new("published", [&summary.identity.name], options),
    };
    report_folder::write(&out, content)
}
