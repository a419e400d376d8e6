//! The verb `compare`. It compares two sweeps, cell by cell.

use std::path::Path;

use anyhow::anyhow;
use program::{Failure, bad_input, eprint_line, reject};
use run_format::Budgets;

use crate::load::{FolderKind, Sweep};
use crate::new_folder;
use crate::options::Options;
use crate::page::{self, Page, data};
use crate::report::comparison::{self, Compared};
use crate::report::markdown::{Frame, terms};
use crate::report_folder::{self, Content, ReportRecord};
use crate::report_kind::ReportKind;
use crate::summary::between::between;
use crate::summary::{CsvTable, Summary, tables};
use crate::text::joined;
use crate::verdict::Verdict;
use crate::views::{ReportInput, ReportPicture, slug};

pub(crate) fn run(folders: [&Path; 2], options: &Options) -> Result<(), Failure> {
    let out = options.out("compared");
    new_folder::refuse_inside(&out, folders)?;
    refuse_unlike(folders)?;
    let read = |folder| Summary::read(Sweep::open(folder)?, options);
    let sides = [&read(folders[0])?, &read(folders[1])?];
    let [before, after] = sides;
    if before.shared_cells(after) == 0 {
        let [before, after] = folders.map(Path::display);
        reject!("{before} and {after}: their grids share no cell");
    }
    // The variants of a comparison are "before" and "after", so no budget is left to choose.
    let mut without_budgets = options.clone();
    without_budgets.pictures.budget.clear();
    let (mut compared, mut runs) = (Vec::new(), Vec::new());
    let (mut pictures, mut parts) = (Vec::new(), Vec::new());
    for budget in budgets(before, after, options)? {
        let summary = between(before, after, budget);
        let budget = budget.to_string();
        let verdict = Verdict::new(&summary, options);
        let input = ReportInput::new(&summary, &verdict, &without_budgets);
        let drawn = input.pictures();
        pictures.extend(drawn.into_iter().map(|picture| ReportPicture {
            stem: format!("{}.{}", slug(&budget), picture.stem),
            ..picture
        }));
        parts.extend(tables(&summary, options));
        runs.push(data::run(&budget, &input, &[]));
        compared.push(Compared {
            budget,
            verdict,
            summary,
        });
    }
    let warnings = comparison::warnings(&before.identity, &after.identity);
    for warning in &warnings {
        eprint_line(format!("warning: {warning}"));
    }
    let in_short = vec![comparison::sentence(&compared)];
    let names = sides.map(|side| side.identity.name.clone());
    let title = format!("{} compared with {}", names[1], names[0]);
    let frame = Frame::new(&in_short, &pictures, options);
    let text = comparison::text(&title, sides, &compared, &warnings, frame);
    let content = Content {
        page: Some(Page {
            title,
            in_short: in_short.clone(),
            opening: page::opening(&pictures),
            terms: terms(ReportKind::Comparison, &sides[1].identity.sites).collect(),
            runs,
            caveats: warnings,
            ..Page::default()
        }),
        table: CsvTable::write(parts)?,
        text,
        on_terminal: in_short,
        pictures,
        files: Vec::new(),
        record: ReportRecord::new("compare", names, options),
    };
    report_folder::write(&out, content)
}

/// Refuses an application and a sweep, which have no cell in common.
fn refuse_unlike(folders: [&Path; 2]) -> Result<(), Failure> {
    let [application, sweep] = match folders.map(FolderKind::find) {
        [FolderKind::Application, FolderKind::Sweep] => folders,
        [FolderKind::Sweep, FolderKind::Application] => [folders[1], folders[0]],
        _ => return Ok(()),
    };
    let (application, sweep) = (application.display(), sweep.display());
    reject!(
        "{application} was measured in an application, and {sweep} was not (accepted: two sweeps, or two runs of an application)"
    );
}

fn budgets(one: &Summary, other: &Summary, options: &Options) -> Result<Vec<Budgets>, Failure> {
    let shared = one.shared_budgets(other);
    if shared.is_empty() {
        let [one, other] = [one, other].map(|side| &side.identity.name);
        reject!("{one} and {other} share no budget");
    }
    if options.pictures.budget.is_empty() {
        return Ok(shared);
    }
    let chosen = options.pictures.budget.iter().map(|text| {
        let refused = |problem| bad_input(anyhow!("--budget: {problem}"));
        let budgets: Budgets = text.parse().map_err(refused)?;
        if shared.contains(&budgets) {
            return Ok(budgets);
        }
        let names = joined(&shared, ", ");
        reject!("--budget {text}: not in both sweeps (in both: {names})")
    });
    chosen.collect()
}
