//! The verbs `report`, `comment` and `verdict`.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::anyhow;
use program::{Failure, bad_input, print, reject, say};
use run_format::Site;

use crate::drift::{self, Drifts};
use crate::explain::{self, Explanation};
use crate::load::{FolderKind, Soak, Sweep, folder_name};
use crate::measure::{Metric, MetricKey};
use crate::new_folder::{NewFile, refuse_inside, resolved};
use crate::options::Options;
use crate::page::{self, Page, data};
use crate::report::markdown::{Frame, terms};
use crate::report::{self, caveats, comment, effects};
use crate::report_folder::{self, Content, ReportRecord};
use crate::report_kind::ReportKind;
use crate::search::Search;
use crate::summary::{CsvTable, Summary, predicted, tables};
use crate::verdict::Verdict;
use crate::views::{self, Entry, Scene};

pub(crate) fn run(run: &Path, options: &Options, is_opened: bool) -> Result<(), Failure> {
    let out = options.out(run.join("report"));
    if resolved(&out) != resolved(run).join("report") {
        refuse_inside(&out, [run])?;
    }
    let content = match FolderKind::find(run) {
        FolderKind::Rr => make_from_rr(run, options)?,
        FolderKind::Soak => make_from_soak(run, options)?,
        _ => make(run, None, options)?,
    };
    report_folder::write(&out, content)?;
    if is_opened {
        open(&out)?;
    }
    Ok(())
}

pub(crate) fn print_comment(run: &Path, options: &Options) -> Result<(), Failure> {
    if matches!(FolderKind::find(run), FolderKind::Rr | FolderKind::Soak) {
        reject!(
            "{}: no comment can be made of it (accepted: the folder of a sweep or of a search)",
            run.display()
        );
    }
    let files = make(run, None, options)?.files;
    if let Some(file) = files.iter().find(|file| file.name == comment::COMMENT) {
        print(String::from_utf8_lossy(&file.content).trim_end());
    }
    Ok(())
}

pub(crate) fn print_verdict(run: &Path, options: &Options) -> Result<(), Failure> {
    let kind = FolderKind::find(run);
    if matches!(kind, FolderKind::Search | FolderKind::Rr | FolderKind::Soak) {
        let run = run.display();
        reject!("{run}: it has no verdict (accepted: the folder of a sweep)");
    }
    let summary = Summary::read(Sweep::open(run)?, options)?;
    let verdict = Verdict::new(&summary, options);
    print(report::verdict::text(&summary, &verdict).trim_end());
    Ok(())
}

fn open(out: &Path) -> Result<(), Failure> {
    let files = [page::FILE, report_folder::TEXT].map(|name| out.join(name));
    let found = files.iter().find(|file| file.is_file());
    let file = found.unwrap_or(&files[1]).canonicalize()?;
    let mut program = Command::new(program::system_tool_or_usr_bin("xdg-open"));
    let opened = program.arg(&file).stderr(Stdio::null()).status();
    if !opened.is_ok_and(|status| status.success()) {
        let file = file.display();
        say(format!(
            "--open: xdg-open is missing or failed; open {file} in a browser"
        ));
    }
    Ok(())
}

/// Makes the report of a sweep or a search. `name` is the name that the folder had, if it was moved since.
pub(crate) fn make(run: &Path, name: Option<&str>, options: &Options) -> Result<Content, Failure> {
    if FolderKind::find(run) == FolderKind::Search {
        return make_from_search(run, name, options);
    }
    let sweep = Sweep::open(run)?;
    check_budgets(&sweep, options)?;
    let explanation = Explanation::read(&sweep, options)?;
    let mut summary = Summary::read(sweep, options)?;
    if let Some(name) = name {
        name.clone_into(&mut summary.identity.name);
    }
    check_sites(&summary, options)?;
    let verdict = Verdict::new(&summary, options);
    let scene = Scene::new(&summary, &verdict, options);
    let made = explanation.as_ref().map(explain::files);
    let explained = made.transpose()?.unwrap_or_default();
    let identity = &summary.identity;
    let page = Page {
        title: format!("Poll latency: {}", identity.name),
        in_short: report::in_short(&summary, &verdict),
        terms: terms(identity.kind(), &identity.sites).collect(),
        runs: vec![data::run(&identity.name, &scene, &explained)],
        ..Page::default()
    };
    content(&scene, &identity.name, page, explained, |frame| {
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
    brief.figures.site = vec![last.summary.first_site(options)];
    let rounds = search.rounds.iter().enumerate().rev();
    let runs = rounds.map(|(index, round)| {
        let is_last = index + 1 == search.rounds.len();
        let options = if is_last { options } else { &brief };
        let name = format!("round {}", index + 1);
        let scene = Scene::new(&round.summary, &round.verdict, options);
        data::run(&name, &scene, &[])
    });
    let page = Page {
        title: format!("Search for a budget: {name}"),
        in_short: report::search::in_short(&search, last),
        terms: terms(ReportKind::Search, &last.summary.identity.sites).collect(),
        runs: runs.collect(),
        ..Page::default()
    };
    let scene = Scene::new(&last.summary, &last.verdict, options);
    content(&scene, &name, page, Vec::new(), |frame| {
        report::search::text(&name, &search, last, frame)
    })
}

/// Makes the report of a sweep, or of the last round of a search, which compare budgets. `page` has what differs between the
/// two, and `text` writes `report.md`.
fn content(
    scene: &Scene,
    name: &str,
    page: Page,
    explained: Vec<NewFile>,
    text: impl FnOnce(Frame) -> String,
) -> Result<Content, Failure> {
    let (summary, options) = (scene.summary, scene.options);
    let pictures = scene.entries();
    let effects = effects::tables(scene.verdict);
    let effects_tables = effects::as_markdown(&effects, summary);
    let frame = Frame {
        tables: &effects_tables,
        ..Frame::new(&page.in_short, &pictures, options)
    };
    Ok(Content {
        text: text(frame),
        page: Some(Page {
            effects: page::effects(&effects, scene),
            opening: page::opening(&pictures),
            caveats: caveats::sentences(summary, options),
            ..page
        }),
        table: CsvTable::write(tables(summary, options))?,
        files: files(scene, &pictures, explained)?,
        on_terminal: on_terminal(summary, scene.verdict),
        pictures,
        record: ReportRecord::new("report", [name], options),
    })
}

fn make_from_rr(run: &Path, options: &Options) -> Result<Content, Failure> {
    options.refuse_options_of_sweeps("a run of `rr` records no polls")?;
    let summary = Summary::read(Sweep::open_rr(run)?, options)?;
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

fn make_from_soak(dir: &Path, options: &Options) -> Result<Content, Failure> {
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
    scene: &Scene,
    pictures: &[Entry],
    mut all: Vec<NewFile>,
) -> Result<Vec<NewFile>, Failure> {
    let predicted = predicted::csv(scene.summary, &scene.options.sites())?;
    let comment = comment::text(scene, pictures).into_bytes();
    let files = [(predicted::FILE, predicted), (comment::COMMENT, comment)];
    all.extend(files.map(|(name, content)| NewFile {
        name: name.to_owned(),
        content,
    }));
    Ok(all)
}

pub(crate) fn check_budgets(sweep: &Sweep, options: &Options) -> Result<(), Failure> {
    let variants = sweep.compared().into_iter();
    let labels: Vec<String> = variants.map(|variant| variant.label).collect();
    let mut asked = options.pictures.budget.iter();
    if let Some(unknown) = asked.find(|label| !labels.contains(label)) {
        let labels = labels.join(", ");
        reject!("--budget {unknown}: not measured in this sweep (measured: {labels})");
    }
    Ok(())
}

fn check_sites(summary: &Summary, options: &Options) -> Result<(), Failure> {
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
