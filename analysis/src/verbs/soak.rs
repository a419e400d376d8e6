//! `report`, of a soak.

use std::path::Path;

use program::Failure;

use crate::{
    drift::{Drifts, table},
    load::{blocks::Disturbed, soak::Soak},
    options::Options,
    page::{self, Page, data},
    report::soak as report,
    report_folder::{self, Content},
    report_record::ReportRecord,
    summary::table::Tables,
    views::drift,
};

pub(crate) fn run(dir: &Path, options: &Options) -> Result<(), Failure> {
    options.refuse_what_is_of_sweeps("a soak has one budget and counts what is over 50 µs")?;
    let soak = Soak::open(dir, Disturbed::unless(options.figures.keep_disturbed))?;
    let drifts = Drifts::of(&soak.rows);
    let picture = drift::entry(&drifts, report::identity(&soak), options);
    let pictures: Vec<_> = picture.into_iter().collect();
    let page = Page {
        title: format!("What drifts in a soak: {}", soak.name()),
        in_short: drifts.sentences(),
        still: page::still_pictures(&pictures),
        caveats: report::caveats(&soak, &drifts),
        runs: Vec::new(),
        soak: data::of_soak(&drifts),
    };
    let plain = drifts.sentences().into_iter();
    let content = Content {
        in_short: plain.map(|it| it.replace("**", "")).collect(),
        tables: Tables::of([table::table(&drifts)])?,
        text: report::text(&soak, &drifts, &pictures, options),
        pictures,
        files: Vec::new(),
        page: Some(page),
        record: ReportRecord::new("soak", vec![soak.name()], options),
    };
    let out = options
        .figures
        .out
        .clone()
        .unwrap_or_else(|| dir.join("report"));
    report_folder::write(&out, content)
}
