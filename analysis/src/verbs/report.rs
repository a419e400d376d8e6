//! `report`

use std::path::Path;

use anyhow::anyhow;
use program::{Failure, bad_input};
use run_format::Site;

use crate::{
    explain::{Explanation, files},
    load::{FolderOf, Sweep},
    measure::metric::{Metric, What},
    options::Options,
    report::{
        self, disturbed,
        folder::{self, Content, ReportRecord},
    },
    summary::{Summary, predicted, table},
    verdict::Verdict,
    views::Scene,
};

pub(crate) fn run(run: &Path, options: &Options) -> Result<(), Failure> {
    match FolderOf::find(run) {
        FolderOf::Sweep => of_a_sweep(run, options),
        FolderOf::Rr => super::rr::run(run, options),
        FolderOf::Soak => super::soak::run(run, options),
    }
}

fn of_a_sweep(run: &Path, options: &Options) -> Result<(), Failure> {
    let sweep = Sweep::open(run)?;
    check_budgets(&sweep, options)?;
    let summary = Summary::of(&sweep, options)?;
    check_sites(&summary, options)?;
    let verdict = Verdict::of(&summary, options);
    let with_all = disturbed::verdict_with_all(&sweep, &summary, options)?;
    let explanation = Explanation::of(&sweep, options)?;
    let pictures = Scene::new(&summary, &verdict, options).entries();
    let text = report::text(
        &summary,
        (&verdict, with_all.as_ref()),
        &pictures,
        explanation.as_ref(),
        options,
    );
    let explained = explanation.map(|it| files::of(&it, options)).transpose()?;
    let out = options.out.clone().unwrap_or_else(|| run.join("report"));
    let content = Content {
        table: table::table(&summary, &options.sites())?,
        pictures,
        predicted: Some(predicted::table(&summary, &options.sites())?),
        explained: explained.unwrap_or_default(),
        text,
        record: ReportRecord::new("report", vec![sweep.name()], options),
    };
    folder::write(&out, content, &report::in_short(&summary, &verdict))
}

/// Refuses a budget that was not measured.
pub(crate) fn check_budgets(sweep: &Sweep, options: &Options) -> Result<(), Failure> {
    let compared = sweep.compared();
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

/// Refuses a site without polls.
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
