//! `compare`

use std::path::Path;

use anyhow::anyhow;
use program::{Failure, bad_input, reject, say};
use run_format::Budgets;

use crate::{
    load::Sweep,
    new_folder,
    options::Options,
    page::{self, Page, data},
    published,
    report::comparison::{self, Compared},
    report_folder::{self, Content},
    report_record::ReportRecord,
    summary::{
        Summary,
        sweeps::between,
        table::{Tables, tables},
    },
    verdict::Verdict,
    views::Scene,
};

pub(crate) fn run(before: &Path, after: &Path, options: &Options) -> Result<(), Failure> {
    let out = options
        .figures
        .out
        .as_deref()
        .unwrap_or(Path::new("compared"));
    new_folder::refuse_inside(out, [before, after])?;
    let sides = [side(before, options)?, side(after, options)?];
    let [was, is] = &sides;
    if was.shared_cells(is) == 0 {
        reject!(
            "{} and {}: their grids share no cell",
            before.display(),
            after.display()
        );
    }
    let budgets = budgets(was, is, options)?;
    let mut compared = Vec::new();
    let mut entries = Vec::new();
    let mut frames = Vec::new();
    for budget in budgets {
        let Some(summary) = between(was, is, budget) else {
            continue;
        };
        let verdict = Verdict::of(&summary, options);
        // Variants of a comparison are before and after, whatever budgets were asked for.
        let mut all = options.clone();
        all.pictures.budget.clear();
        let drawn = Scene::new(&summary, &verdict, &all).entries();
        frames.extend(tables(&summary, options));
        entries.extend(comparison::of_budget(drawn, &budget.to_string()));
        compared.push(Compared {
            budget: budget.to_string(),
            verdict,
            summary,
        });
    }
    let warnings = comparison::warnings(&was.identity, &is.identity);
    for warning in &warnings {
        say(format!("warning: {warning}"));
    }
    let in_short = comparison::sentences(&compared, [was, is], options);
    let runs = compared
        .iter()
        .map(|it| data::of(&it.budget, &it.summary, &it.verdict, &[], options));
    let page = Page {
        title: format!("{} compared with {}", is.identity.name, was.identity.name),
        in_short: in_short.clone(),
        still: page::still(&compared[0].verdict, &entries),
        caveats: warnings.clone(),
        runs: runs.collect(),
        soak: Vec::new(),
    };
    let text = comparison::text(was, is, &compared, &entries, &warnings, options);

    let names = vec![was.identity.name.clone(), is.identity.name.clone()];
    let content = Content {
        in_short,
        tables: Tables::of(frames)?,
        pictures: entries,
        files: Vec::new(),
        page: Some(page),
        text,
        record: ReportRecord::new("compare", names, options),
    };
    report_folder::write(out, content)
}

fn side(path: &Path, options: &Options) -> Result<Summary, Failure> {
    if path.is_file() {
        published::read(path, options)
    } else {
        Summary::of(&mut Sweep::open(path)?, options)
    }
}

fn budgets(was: &Summary, is: &Summary, options: &Options) -> Result<Vec<Budgets>, Failure> {
    let shared = was.shared_budgets(is);
    if shared.is_empty() {
        reject!(
            "{} and {} share no budget",
            was.identity.name,
            is.identity.name
        );
    }
    if options.pictures.budget.is_empty() {
        return Ok(shared);
    }
    let chosen = options.pictures.budget.iter().map(|text| {
        let wrong = |problem: String| bad_input(anyhow!("--budget: {problem}"));
        let budgets: Budgets = text.parse().map_err(wrong)?;
        if shared.contains(&budgets) {
            return Ok(budgets);
        }
        let names: Vec<String> = shared.iter().map(Budgets::to_string).collect();
        Err(bad_input(anyhow!(
            "--budget {text}: not in both sweeps (in both: {})",
            names.join(", ")
        )))
    });
    chosen.collect()
}
