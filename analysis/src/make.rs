//! Makes the content of a report from what was measured: reads it, judges it, draws and writes about it.

use std::path::Path;

use anyhow::anyhow;
use program::{Failure, bad_input, reject};
use run_format::Site;

use crate::drift::{self, Drifts};
use crate::explain::{self, Explanation};
use crate::load::{FolderKind, Soak, Sweep, folder_name};
use crate::metrics::{Metric, MetricKey};
use crate::new_folder::NewFile;
use crate::options::Options;
use crate::page::{self, Page, data};
use crate::report::markdown::{Frame, terms};
use crate::report::{self, caveats, comment, effects};
use crate::report_folder::{Content, ReportRecord};
use crate::report_kind::ReportKind;
use crate::search::Search;
use crate::summary::{CsvTable, Summary, predicted, tables};
use crate::verdict::Verdict;
use crate::views::{self, ReportInput, ReportPicture};

/// Makes the report of a sweep or a search. `name` is the name that the folder had, if it was moved since.
pub(crate) fn make(dir: &Path, name: Option<&str>, options: &Options) -> Result<Content, Failure> {
    if FolderKind::find(dir) == FolderKind::Search {
        return make_from_search(dir, name, options);
    }
    let sweep = Sweep::open(dir)?;
    refuse_unknown_budgets(&sweep, options)?;
    let explanation = Explanation::read(&sweep, options)?;
    let mut summary = Summary::read(sweep, options)?;
    if let Some(name) = name {
        name.clone_into(&mut summary.identity.name);
    }
    refuse_unrecorded_sites(&summary, options)?;
    let verdict = Verdict::new(&summary, options);
    let input = ReportInput::new(&summary, &verdict, options);
    let made = explanation.as_ref().map(explain::files);
    let explained = made.transpose()?.unwrap_or_default();
    let identity = &summary.identity;
    let page = Page {
        title: format!("Poll latency: {}", identity.name),
        in_short: report::in_short(&summary, &verdict),
        terms: terms(identity.kind(), &identity.sites).collect(),
        runs: vec![data::run(&identity.name, &input, &explained)],
        ..Page::default()
    };
    content(&input, &identity.name, page, explained, |frame| {
        report::text(&summary, &verdict, explanation.as_ref(), frame)
    })
}

/// The lines that a person reads when a measurement ends.
fn on_terminal(summary: &Summary, verdict: &Verdict) -> Vec<String> {
    let answer = report::answers(summary, verdict).into_iter().take(1);
    let sentences = answer.chain(caveats::incomplete(summary));
    sentences.chain(effects::for_terminal(verdict)).collect()
}

fn make_from_search(dir: &Path, name: Option<&str>, options: &Options) -> Result<Content, Failure> {
    let search = Search::open(dir, options)?;
    let last = search.rounds.last().ok_or_else(|| {
        let dir = dir.display();
        bad_input(anyhow!(
            "{dir}: no round of this search was measured; --resume {dir} goes on"
        ))
    })?;
    let name = name.map_or_else(|| folder_name(dir), str::to_owned);
    // The early rounds have many variants, so the page has only one site of them.
    let mut brief = options.clone();
    brief.figures.site = vec![last.summary.judged_site(options)];
    let rounds = search.rounds.iter().enumerate().rev();
    let runs = rounds.map(|(index, round)| {
        let is_last = index + 1 == search.rounds.len();
        let options = if is_last { options } else { &brief };
        let name = format!("round {}", index + 1);
        let input = ReportInput::new(&round.summary, &round.verdict, options);
        data::run(&name, &input, &[])
    });
    let page = Page {
        title: format!("Search for a budget: {name}"),
        in_short: report::search::in_short(&search, last),
        terms: terms(ReportKind::Search, &last.summary.identity.sites).collect(),
        runs: runs.collect(),
        ..Page::default()
    };
    let input = ReportInput::new(&last.summary, &last.verdict, options);
    content(&input, &name, page, Vec::new(), |frame| {
        report::search::text(&name, &search, last, frame)
    })
}

/// Makes the report of a sweep, or of the last round of a search, which compare budgets. `page` has what differs between the
/// two, and `text` writes `report.md`.
fn content(
    input: &ReportInput,
    name: &str,
    page: Page,
    explained: Vec<NewFile>,
    text: impl FnOnce(Frame) -> String,
) -> Result<Content, Failure> {
    let (summary, options) = (input.summary, input.options);
    let pictures = input.pictures();
    let effects = effects::tables(input.verdict);
    let effects_tables = effects::as_markdown(&effects, summary);
    let frame = Frame {
        tables: &effects_tables,
        ..Frame::new(&page.in_short, &pictures, options)
    };
    Ok(Content {
        text: text(frame),
        page: Some(Page {
            effects: page::effects(&effects, input),
            opening: page::opening(&pictures),
            caveats: caveats::sentences(summary, options),
            ..page
        }),
        table: CsvTable::write(tables(summary, options))?,
        files: files(input, &pictures, explained)?,
        on_terminal: on_terminal(summary, input.verdict),
        pictures,
        record: ReportRecord::new("report", [name], options),
    })
}

pub(crate) fn make_from_rr(dir: &Path, options: &Options) -> Result<Content, Failure> {
    options.refuse_options_of_sweeps("a run of `rr` records no polls")?;
    let summary = Summary::read(Sweep::open_rr(dir)?, options)?;
    let pictures = vec![views::lines::rr(&summary, options)];
    let in_short = report::rr::sentences(&summary);
    Ok(Content {
        table: CsvTable::write(tables(&summary, options))?,
        text: report::rr::text(&summary, Frame::new(&in_short, &pictures, options)),
        on_terminal: in_short,
        pictures,
        files: Vec::new(),
        page: None,
        record: ReportRecord::new("rr", [&summary.identity.name], options),
    })
}

pub(crate) fn make_from_soak(dir: &Path, options: &Options) -> Result<Content, Failure> {
    options.refuse_options_of_sweeps("a soak has one budget and counts what is over 50 µs")?;
    let soak = Soak::open(dir)?;
    let drifts = Drifts::find(&soak.rows);
    let picture = views::lines::drift(&drifts, report::soak::identity(&soak), options);
    let pictures = vec![picture];
    let in_short = drifts.sentences();
    let title = format!("What drifts in a soak: {}", soak.name());
    Ok(Content {
        table: CsvTable::write([drift::table(&drifts)])?,
        text: report::soak::text(
            &title,
            &soak,
            &drifts,
            Frame::new(&in_short, &pictures, options),
        ),
        on_terminal: in_short.clone(),
        page: Some(Page {
            title,
            in_short,
            opening: page::opening(&pictures),
            caveats: report::soak::caveats(&soak, &drifts),
            soak: data::soak(&drifts),
            ..Page::default()
        }),
        pictures,
        files: Vec::new(),
        record: ReportRecord::new("soak", [soak.name()], options),
    })
}

fn files(
    input: &ReportInput,
    pictures: &[ReportPicture],
    mut all: Vec<NewFile>,
) -> Result<Vec<NewFile>, Failure> {
    let predicted = predicted::csv(input.summary, &input.options.sites())?;
    let comment = comment::text(input, pictures).into_bytes();
    let files = [(predicted::FILE, predicted), (comment::COMMENT, comment)];
    all.extend(files.map(|(name, content)| NewFile {
        name: name.to_owned(),
        content,
    }));
    Ok(all)
}

pub(crate) fn refuse_unknown_budgets(sweep: &Sweep, options: &Options) -> Result<(), Failure> {
    let variants = sweep.compared().into_iter();
    let labels: Vec<String> = variants.map(|variant| variant.label).collect();
    let mut asked = options.pictures.budget.iter();
    if let Some(unknown) = asked.find(|label| !labels.contains(label)) {
        let labels = labels.join(", ");
        reject!("--budget {unknown}: not measured in this sweep (measured: {labels})");
    }
    Ok(())
}

fn refuse_unrecorded_sites(summary: &Summary, options: &Options) -> Result<(), Failure> {
    let is_there = |site: Site| {
        let key = MetricKey::new(site, Metric::PollsPerRequest);
        summary.measured_cells().any(|cell| {
            let mut figures = cell.figures.get(&key).into_iter().flatten();
            figures.any(Option::is_some) || cell.slow_polls(site).is_some()
        })
    };
    if let Some(unseen) = options.figures.site.iter().find(|site| !is_there(**site)) {
        reject!("--site {unseen}: no poll of it was recorded in this sweep");
    }
    Ok(())
}
