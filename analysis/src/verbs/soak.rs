//! `report`, of a soak.

use std::path::Path;

use anyhow::anyhow;
use program::{Failure, bad_input};

use crate::{
    drift::{Drifts, table},
    load::{blocks::Disturbed, soak::Soak},
    options::Options,
    page::{self, Page},
    report::{
        folder::{self, Content, ReportRecord},
        soak as report,
    },
    views::drift,
};

pub(crate) fn run(dir: &Path, options: &Options) -> Result<(), Failure> {
    check(options)?;
    let soak = Soak::open(dir, Disturbed::unless(options.keep_disturbed))?;
    let drifts = Drifts::of(&soak.rows);
    let pictures = drift::entries(&drifts, &report::identity(&soak), options);
    let page = Page {
        title: format!("What drifts in a soak: {}", soak.name()),
        in_short: drifts.sentences(),
        still: format!("<div class=\"still\">{}</div>\n", page::figures(&pictures)?),
        caveats: Vec::new(),
        runs: Vec::new(),
    };
    let content = Content {
        table: table::table(&drifts)?,
        text: report::text(&soak, &drifts, &pictures, options),
        pictures,
        predicted: None,
        explained: Vec::new(),
        comment: None,
        page: Some(page),
        record: ReportRecord::new("soak", vec![soak.name()], options).with_page(),
    };
    let out = options.out.clone().unwrap_or_else(|| dir.join("report"));
    let plain: Vec<String> = drifts
        .sentences()
        .iter()
        .map(|sentence| sentence.replace("**", ""))
        .collect();
    folder::write(&out, content, &plain)
}

/// Refuses options that do not apply to soaks.
fn check(options: &Options) -> Result<(), Failure> {
    const COUNTED_OVER_NS: u64 = 50_000;
    let unfit = [
        ("--threshold", options.threshold != COUNTED_OVER_NS),
        ("--site", !options.site.is_empty()),
        ("--metric", !options.metric.is_empty()),
        ("--budget", !options.budget.is_empty()),
        ("--picture", !options.picture.is_empty()),
    ];
    match unfit.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((name, _)) => Err(bad_input(anyhow!(
            "{name}: a soak has one budget and counts what is over 50 µs (accepted for it: --format, --keep-disturbed, --link-base, --out)"
        ))),
    }
}
