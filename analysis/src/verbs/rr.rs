//! `report`, of a run of `rr`.

use std::path::Path;

use program::Failure;

use crate::{
    load::Sweep,
    options::Options,
    report::rr,
    report_folder::{self, Content},
    report_record::ReportRecord,
    summary::{
        Summary,
        table::{Tables, tables},
    },
    views,
};

pub(crate) fn run(run: &Path, options: &Options) -> Result<(), Failure> {
    options.refuse_what_is_of_sweeps("a run of `rr` records no polls")?;
    let mut sweep = Sweep::open_rr(run)?;
    let summary = Summary::of(&mut sweep, options)?;
    let picture = views::rr::entry(&summary, options);
    let content = Content {
        in_short: rr::sentences(&summary),
        tables: Tables::of(tables(&summary, options))?,
        text: rr::text(&summary, &picture, options),
        pictures: vec![picture],
        files: Vec::new(),
        page: None,
        record: ReportRecord::new("rr", vec![sweep.name()], options),
    };
    let out = options
        .figures
        .out
        .clone()
        .unwrap_or_else(|| run.join("report"));
    report_folder::write(&out, content)
}
