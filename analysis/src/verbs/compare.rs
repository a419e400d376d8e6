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
    report_folder::ReportRecord,
    report_folder::{self, Content},
    summary::{
        Summary,
        sweeps::between,
        table::{Tables, tables},
    },
    text::joined,
    verdict::Verdict,
    views::Scene,
};

pub(crate) fn run(before: &Path, after: &Path, options: &Options) -> Result<(), Failure> {
    let out = options.out("compared");
    new_folder::refuse_inside(&out, [before, after])?;
    let [was, is] = &[side(before, options)?, side(after, options)?];
    if was.shared_cells(is) == 0 {
        let (before, after) = (before.display(), after.display());
        reject!("{before} and {after}: their grids share no cell");
    }
    // Variants of a comparison are before and after, whatever budgets were asked for.
    let mut all = options.clone();
    all.pictures.budget.clear();
    let (mut compared, mut entries, mut frames) = (Vec::new(), Vec::new(), Vec::new());
    for budget in budgets(was, is, options)? {
        let Some(summary) = between(was, is, budget) else {
            continue;
        };
        let verdict = Verdict::of(&summary, options);
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
    let runs = compared.iter();
    let runs = runs.map(|it| data::of(&it.budget, &it.summary, &it.verdict, &[], options));
    let names = [was, is].map(|side| side.identity.name.clone());
    let title = format!("{} compared with {}", names[1], names[0]);
    let content = Content {
        page: Some(Page {
            title: title.clone(),
            in_short: in_short.clone(),
            still: page::still(&compared[0].verdict, &entries),
            runs: runs.collect(),
            caveats: warnings.clone(),
            ..Page::default()
        }),
        tables: Tables::of(frames)?,
        text: comparison::text(
            &title,
            &in_short,
            [was, is],
            &compared,
            &entries,
            &warnings,
            options,
        ),
        in_short,
        pictures: entries,
        files: Vec::new(),
        record: ReportRecord::new("compare", names.into(), options),
    };
    report_folder::write(&out, content)
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
        let (was, is) = (&was.identity.name, &is.identity.name);
        reject!("{was} and {is} share no budget");
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
        let names = joined(&shared, ", ");
        reject!("--budget {text}: not in both sweeps (in both: {names})")
    });
    chosen.collect()
}
