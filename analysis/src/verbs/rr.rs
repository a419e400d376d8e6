//! `report`, of a run of `rr`.

use std::path::Path;

use program::{Failure, bad_input, reject};

use crate::{
    load::{Sweep, blocks::Disturbed},
    measure::{CellState, rr::RrCell},
    options::Options,
    report::{
        folder::{self, Content, ReportRecord},
        rr,
    },
    summary::{identity::Identity, table::Tables},
    views,
};

pub(crate) fn run(run: &Path, options: &Options) -> Result<(), Failure> {
    options.refuse_what_is_of_sweeps("a run of `rr` records no polls")?;
    let sweep = Sweep::open_rr(run)?;
    let variants = &sweep.manifest.config.variants;
    let disturbed = Disturbed::unless(options.keep_disturbed);
    let cells: Vec<RrCell> = sweep
        .cells
        .iter()
        .map(|files| RrCell::of(files, variants, disturbed))
        .collect::<Result<_, _>>()
        .map_err(bad_input)?;
    if cells.iter().all(|cell| cell.state != CellState::Measured) {
        reject!(
            "{}: no payload has a complete block, so there is nothing to report",
            run.display()
        );
    }
    let identity = Identity::of(&sweep);
    let picture = views::rr::entry(&cells, variants, options, identity.line());
    let report = rr::Report {
        identity: &identity,
        manifest: &sweep.manifest,
        cells: &cells,
    };
    let content = Content {
        in_short: report.sentences(),
        tables: Tables::of([report.table()])?,
        text: report.text(&picture, options),
        pictures: vec![picture],
        files: Vec::new(),
        page: None,
        record: ReportRecord::new("rr", vec![sweep.name()], options),
    };
    let out = options.out.clone().unwrap_or_else(|| run.join("report"));
    folder::write(&out, content)
}
