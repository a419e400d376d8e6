//! The verbs `report`, `comment`, `verdict`, `page`, `published` and `export`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};
use program::{Failure, bad_input, print, reject, say};
use run_format::Site;
use run_format::files::read;

use crate::drift::{self, Drifts};
use crate::explain::{self, Explanation, File};
use crate::load::{FolderOf, Soak, Sweep, folder_name};
use crate::measure::{Metric, MetricKey};
use crate::new_folder::{refuse_inside, resolved};
use crate::options::{FigureOptions, Options};
use crate::page::{self, Page, data};
use crate::published;
use crate::report::markdown::{Frame, terms};
use crate::report::terminal::Line;
use crate::report::{self, caveats, comment, comparison, effects};
use crate::report_folder::{self, Content, ReportRecord};
use crate::search::Search;
use crate::summary::{Summary, Tables, predicted, tables};
use crate::verdict::Verdict;
use crate::views::{self, Entry, Scene};

pub(crate) fn run(run: &Path, options: &Options, is_opened: bool) -> Result<(), Failure> {
    let out = options.out(run.join("report"));
    if resolved(&out) != resolved(run).join("report") {
        refuse_inside(&out, [run])?;
    }
    let content = match FolderOf::find(run) {
        FolderOf::Rr => make_from_rr(run, options)?,
        FolderOf::Soak => make_from_soak(run, options)?,
        FolderOf::Sweep | FolderOf::Search => make(run, None, options)?,
    };
    report_folder::write(&out, content)?;
    if is_opened {
        open(&out)?;
    }
    Ok(())
}

pub(crate) fn print_comment(run: &Path, options: &Options) -> Result<(), Failure> {
    if !matches!(FolderOf::find(run), FolderOf::Sweep | FolderOf::Search) {
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
    if FolderOf::find(run) != FolderOf::Sweep {
        let run = run.display();
        reject!("{run}: it has no verdict (accepted: the folder of a sweep)");
    }
    let summary = Summary::read(&mut Sweep::open(run)?, options)?;
    let verdict = Verdict::new(&summary, options);
    print(report::verdict::text(&summary, &verdict).trim_end());
    Ok(())
}

pub(crate) fn write_page(runs: &[PathBuf], options: &Options) -> Result<(), Failure> {
    let out = options.out("page");
    refuse_inside(&out, runs.iter().map(PathBuf::as_path))?;
    let file = out.join(page::FILE);
    let is_page = || read(&file).is_ok_and(|html| Page::is_ours(&String::from_utf8_lossy(&html)));
    if fs::symlink_metadata(&file).is_ok() && !is_page() {
        let file = file.display();
        reject!("{file}: this file exists and is not a page; choose another --out");
    }
    let made = runs.iter().map(|run| Ok(make(run, None, options)?.page));
    let pages: Vec<Option<Page>> = made.collect::<Result<_, Failure>>()?;
    let page = Page::of_several(pages.into_iter().flatten().collect());
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    fs::write(&file, page.html()).with_context(|| file.display().to_string())?;
    print(file.display());
    Ok(())
}

pub(crate) fn report_published(path: &Path, options: &Options) -> Result<(), Failure> {
    let summary = published::read(path, options)?;
    let verdict = Verdict::new(&summary, options);
    let pictures = Scene::new(&summary, &verdict, options).entries();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let out = options.out(path.with_file_name(format!("{stem}-report")));
    refuse_inside(&out, [path])?;
    let in_short = comparison::of_published(&summary, summary.first_site(options), 0);
    let content = Content {
        tables: Tables::encode(tables(&summary, options))?,
        text: comparison::text_of_published(&summary, Frame::new(&in_short, &pictures, options)),
        on_terminal: in_short.into_iter().map(Line::from).collect(),
        pictures,
        files: Vec::new(),
        page: None,
        record: ReportRecord::new("published", [&summary.identity.name], options),
    };
    report_folder::write(&out, content)
}

fn open(out: &Path) -> Result<(), Failure> {
    let files = [page::FILE, report_folder::TEXT].map(|name| out.join(name));
    let found = files.iter().find(|file| file.is_file());
    let file = found.unwrap_or(&files[1]).canonicalize()?;
    let mut program = Command::new(program::tool("xdg-open"));
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
    if FolderOf::find(run) == FolderOf::Search {
        return make_from_search(run, name, options);
    }
    let mut sweep = Sweep::open(run)?;
    check_budgets(&sweep, options)?;
    let mut summary = Summary::read(&mut sweep, options)?;
    if let Some(name) = name {
        name.clone_into(&mut summary.identity.name);
    }
    check_sites(&summary, options)?;
    let verdict = Verdict::new(&summary, options);
    let explanation = Explanation::read(&sweep, options)?;
    let scene = Scene::new(&summary, &verdict, options);
    let pictures = scene.entries();
    let in_short = report::in_short(&summary, &verdict);
    let effects = effects::tables(&verdict);
    let effects_tables = effects::as_markdown(&effects, &summary);
    let frame = Frame {
        tables: &effects_tables,
        ..Frame::new(&in_short, &pictures, options)
    };
    let text = report::text(&summary, &verdict, explanation.as_ref(), frame);
    let made = explanation.as_ref().map(explain::files);
    let explained = made.transpose()?.unwrap_or_default();
    let name = &summary.identity.name;
    let page = Page {
        title: format!("Poll latency: {name}"),
        in_short: in_short.clone(),
        effects: page::effects(&effects, &scene),
        opening: page::opening(&pictures),
        still: page::still(&verdict),
        terms: terms(summary.identity.kind(), &summary.identity.sites).collect(),
        caveats: caveats::of_sweep(&summary, options),
        runs: vec![data::run(name, &scene, &explained)],
        ..Page::default()
    };
    Ok(Content {
        page: Some(page),
        tables: Tables::encode(tables(&summary, options))?,
        files: files(&scene, &pictures, explained)?,
        on_terminal: on_terminal(&summary, &verdict),
        pictures,
        text,
        record: ReportRecord::new("report", [&summary.identity.name], options),
    })
}

/// The lines that a person reads when a measurement ends.
fn on_terminal(summary: &Summary, verdict: &Verdict) -> Vec<Line> {
    let answer = report::answers(summary, verdict).into_iter().take(1);
    let sentences = answer.chain(caveats::incomplete(summary)).map(Line::from);
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
    let scene = Scene::new(&last.summary, &last.verdict, options);
    let mut pictures = views::search_map::entries(&scene, &search);
    pictures.extend(scene.entries());
    let in_short = report::search::in_short(&search, last);
    let effects = effects::tables(&last.verdict);
    let effects_tables = effects::as_markdown(&effects, &last.summary);
    let frame = Frame {
        tables: &effects_tables,
        ..Frame::new(&in_short, &pictures, options)
    };
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
        in_short: in_short.clone(),
        effects: page::effects(&effects, &scene),
        opening: page::opening(&pictures),
        still: page::still(&last.verdict),
        terms: terms("search", &last.summary.identity.sites).collect(),
        caveats: caveats::of_sweep(&last.summary, options),
        runs: runs.collect(),
        ..Page::default()
    };
    Ok(Content {
        page: Some(page),
        tables: Tables::encode(tables(&last.summary, options))?,
        files: files(&scene, &pictures, Vec::new())?,
        on_terminal: on_terminal(&last.summary, &last.verdict),
        text: report::search::text(&name, &search, last, frame),
        pictures,
        record: ReportRecord::new("report", [name], options),
    })
}

fn make_from_rr(run: &Path, options: &Options) -> Result<Content, Failure> {
    options.refuse_options_of_sweeps("a run of `rr` records no polls")?;
    let mut sweep = Sweep::open_rr(run)?;
    let summary = Summary::read(&mut sweep, options)?;
    let pictures = vec![views::lines::rr(&summary, options)];
    let in_short = report::rr::sentences(&summary);
    Ok(Content {
        tables: Tables::encode(tables(&summary, options))?,
        text: report::rr::text(&summary, Frame::new(&in_short, &pictures, options)),
        on_terminal: in_short.into_iter().map(Line::from).collect(),
        pictures,
        files: Vec::new(),
        page: None,
        record: ReportRecord::new("rr", [sweep.name()], options),
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
        tables: Tables::encode([drift::table(&drifts)])?,
        text: report::soak::text(
            &title,
            &soak,
            &drifts,
            Frame::new(&in_short, &pictures, options),
        ),
        on_terminal: in_short.iter().cloned().map(Line::from).collect(),
        page: Some(Page {
            title,
            in_short,
            still: page::still_pictures(&pictures),
            caveats: report::soak::caveats(&soak, &drifts),
            soak: data::soak(&drifts),
            ..Page::default()
        }),
        pictures,
        files: Vec::new(),
        record: ReportRecord::new("soak", [soak.name()], options),
    })
}

fn files(scene: &Scene, pictures: &[Entry], mut all: Vec<File>) -> Result<Vec<File>, Failure> {
    let predicted = predicted::csv(scene.summary, &scene.options.sites())?;
    let comment = comment::text(scene, pictures).into_bytes();
    let files = [(predicted::FILE, predicted), (comment::COMMENT, comment)];
    all.extend(files.map(|(name, content)| File {
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
        summary.measured().any(|cell| {
            let mut figures = cell.figures.get(&key).into_iter().flatten();
            figures.any(Option::is_some) || cell.slow_polls(site).is_some()
        })
    };
    if let Some(unseen) = options.figures.site.iter().find(|site| !is_there(**site)) {
        reject!("--site {unseen}: no poll of it was recorded in this sweep");
    }
    Ok(())
}

pub(crate) fn export(runs: &[PathBuf], options: &Options) -> Result<(), Failure> {
    let out = options.out("dataset");
    refuse_inside(&out, runs.iter().map(PathBuf::as_path))?;
    let folder = |name: &str| out.join(format!("sweep={name}"));
    let mut sweeps: Vec<Sweep> = Vec::new();
    for run in runs {
        let sweep = Sweep::open(run)?;
        let folder = folder(&sweep.name());
        let is_known = sweeps.iter().any(|other| other.name() == sweep.name());
        if is_known || folder.exists() {
            let folder = folder.display();
            reject!("--out: {folder} is there already (remove it, or choose another folder)");
        }
        check_budgets(&sweep, options)?;
        sweeps.push(sweep);
    }
    for mut sweep in sweeps {
        let summary = Summary::read(&mut sweep, options)?;
        let asked = &options.figures.metric;
        let is_asked = |metric: &&Metric| asked.is_empty() || asked.contains(metric);
        for &metric in Metric::ALL.iter().filter(is_asked) {
            let options = Options::from(FigureOptions {
                metric: vec![metric],
                ..options.figures.clone()
            });
            // The folder has the name of the metric, so the table does not repeat it.
            let parts = tables(&summary, &options).map(|part| Ok(part?.drop("metric")?));
            let tables = Tables::encode(parts)?;
            if tables.rows == 0 {
                continue;
            }
            let dir = folder(&sweep.name()).join(format!("metric={}", metric.info().name));
            let file = dir.join("figures.parquet");
            fs::create_dir_all(&dir)
                .and_then(|()| fs::write(&file, tables.parquet))
                .with_context(|| file.display().to_string())?;
        }
        print(folder(&sweep.name()).display());
    }
    Ok(())
}
