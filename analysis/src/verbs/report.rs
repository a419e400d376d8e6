//! `report`

use std::path::Path;

use anyhow::anyhow;

use crate::{
    failure::{Failure, bad_input},
    load::Sweep,
    measure::metric::{Metric, What},
    options::Options,
    report::{
        self,
        folder::{self, Content, Record},
    },
    site::Site,
    summary::{Summary, table},
    verdict::Verdict,
    views::Scene,
};

pub(crate) fn run(run: &Path, options: &Options) -> Result<(), Failure> {
    let sweep = Sweep::open(run)?;
    check_budgets(&sweep, options)?;
    let summary = Summary::of(&sweep, options)?;
    check_sites(&summary, options)?;
    let verdict = Verdict::of(&summary, options.first_site());
    let pictures = Scene::new(&summary, &verdict, options).entries();
    let text = report::text(&summary, &verdict, &pictures, options);
    let out = options.out.clone().unwrap_or_else(|| run.join("report"));
    let content = Content {
        table: table::table(&summary, &options.sites())?,
        pictures,
        text,
        record: Record::new("report", vec![sweep.name()], options),
    };
    folder::write(&out, content, &verdict.sentences())
}

/// A budget that is asked for has to be there.
pub(crate) fn check_budgets(sweep: &Sweep, options: &Options) -> Result<(), Failure> {
    let compared = sweep.manifest.config.compared();
    let labels: Vec<&str> = compared
        .iter()
        .map(|variant| variant.label.as_str())
        .collect();
    match options
        .budget
        .iter()
        .find(|it| !labels.contains(&it.as_str()))
    {
        None => Ok(()),
        Some(unknown) => Err(bad_input(anyhow!(
            "--budget {unknown}: not measured in this sweep (measured: {})",
            labels.join(", ")
        ))),
    }
}

/// So has a site.
fn check_sites(summary: &Summary, options: &Options) -> Result<(), Failure> {
    let is_there = |site: &Site| {
        let what = What::of(*site, Metric::PollsPerRequest);
        let mut cells = summary.measured();
        cells.any(|cell| {
            cell.figures
                .get(&what)
                .is_some_and(|of| of.iter().any(Option::is_some))
        }) || summary
            .measured()
            .any(|cell| cell.slow_polls(*site).is_some())
    };
    match options.site.iter().find(|site| !is_there(site)) {
        None => Ok(()),
        Some(unseen) => Err(bad_input(anyhow!(
            "--site {unseen}: no poll of it was recorded in this sweep"
        ))),
    }
}
