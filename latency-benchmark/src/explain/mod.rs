//! Finds out why the cells of a sweep are slow. It launches the worst of them again and collects evidence, in place of
//! comparing budgets.

pub(crate) mod args;
mod worst;

use std::path::Path;

use anyhow::Result;
use fs_err as fs;
use program::{Failure, eprint_line, interrupts_seen, print_line};
use run_format::files::{EXPLAIN, SCHEMA, explained_folder, unix_s, write_json};
use run_format::{ENOUGH_SLOW_SAMPLES, ExplainFile, RunRow, plan};
use swarm_patch::subject::builder::Program;

use self::args::{AskedExplanation, ExplainArgs};
use self::worst::Chosen;
use crate::cell::CellMessage;
use crate::manifest::{command, tool};
use crate::programs::Programs;
use crate::progress::{MEASURED, Progress, RunCounts};
use crate::results_folder::ResultsFolder;
use crate::session::{Session, goes_on_after};
use crate::subject_builds::to_build;
use crate::sweep::run_folder::RunFolder;

pub(crate) fn run(args: ExplainArgs) -> Result<u8, Failure> {
    let asked = args.asked()?;
    if args.dry_run {
        list(&asked);
        let stack = asked.program.stack;
        if let Some(line) = to_build(&asked.config, stack, Program::Explaining)? {
            print_line(line);
        }
        return Ok(MEASURED);
    }
    let programs = Programs::explaining(&asked.config, &asked.program)?;
    let file_name = format!("{EXPLAIN}/{EXPLAIN}.json");
    let folder = ResultsFolder::lock(&args.run, &file_name, false)?;
    set_earlier_aside(&args.run)?;
    let dir = args.run.join(EXPLAIN);
    fs::create_dir(&dir)?;
    let cells = asked.cells.iter().map(|chosen| chosen.row.clone());
    let file = ExplainFile {
        schema: SCHEMA,
        command: command(),
        tool: tool(&programs.describe()?),
        variants: asked.plan.variants.clone(),
        subjects: asked.subjects.iter().copied().flatten().collect(),
        cells: cells.collect(),
        created_unix_s: unix_s(),
    };
    write_json(&args.run.join(file_name), &file)?;
    let blocks = asked.launches().count() as u64 * u64::from(asked.plan.blocks);
    let progress = Progress::new(blocks, true);
    let peers = &asked.config.lab.placement.peers;
    let session = Session::begin(folder, progress, peers)?;
    let mut counts = RunCounts::default();
    counts.interrupted = !explain(&asked, &session, &dir, &programs, &mut counts)?;
    let summary = counts.summary("runs explained");
    session.progress.finish(&summary, &dir);
    Ok(counts.exit_code())
}

fn list(asked: &AskedExplanation) {
    let mut text = String::new();
    for chosen in &asked.cells {
        text += &format!("{}\n", chosen.row.in_words(&chosen.cell));
    }
    let config = &asked.config;
    let subjects = asked.subjects.iter().flatten();
    let mut labels: Vec<&str> = subjects
        .map(|&number| &*config.subjects[number].label)
        .collect();
    if labels.is_empty() {
        let variants = asked.plan.variants.iter();
        labels.extend(variants.map(|&number| &*config.variants[number].label));
    }
    print_line(format!("{text}compared: {}", labels.join(", ")));
}

/// Keeps an earlier explanation under another name.
fn set_earlier_aside(run: &Path) -> Result<()> {
    let explanation = RunFolder {
        folder: run.to_owned(),
        name: EXPLAIN.to_owned(),
    };
    if let Some(now) = explanation.set_aside(&explanation.done(), "earlier")? {
        eprint_line(format!(
            "the earlier explanation is now in {}",
            now.display()
        ));
    }
    Ok(())
}

impl AskedExplanation {
    /// The launches in their order. The subjects of a cell follow each other.
    fn launches(&self) -> impl Iterator<Item = (&Chosen, Option<usize>)> {
        let subjects = self.subjects.iter();
        let cells = self.cells.iter();
        cells.flat_map(move |chosen| subjects.clone().map(move |subject| (chosen, *subject)))
    }

    fn name(&self, chosen: &Chosen, subject: Option<usize>) -> String {
        match subject {
            Some(subject) => format!("{}, {}", chosen.cell, self.config.subjects[subject].label),
            None => chosen.cell.to_string(),
        }
    }
}

/// Explains the launches one after the other. Each is on disk before the next begins. Returns false after an interrupt.
fn explain(
    asked: &AskedExplanation,
    session: &Session,
    dir: &Path,
    programs: &Programs,
    counts: &mut RunCounts,
) -> Result<bool> {
    for (chosen, subject) in asked.launches() {
        if interrupts_seen() > 0 {
            return Ok(false);
        }
        session.folder.check()?;
        let run_dir = RunFolder {
            folder: dir.to_owned(),
            name: explained_folder(&chosen.row.id, subject),
        };
        let (launch, partial) = ((chosen, subject), run_dir.begin()?);
        let Some(row) = measure(asked, launch, session, programs, &partial)? else {
            return Ok(false);
        };
        run_dir.finish(&row, true)?;
        counts.add(&row.outcome);
        let name = asked.name(chosen, subject);
        session.progress.line(&match row.outcome.stop_or_problem() {
            Ok(_) => format!("explained: {name}"),
            Err(problem) => format!("{name}: {problem}"),
        });
        if !row.is_measured() {
            session.folder.check_room()?;
        }
        if !goes_on_after(&row) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns None after a second interrupt.
fn measure(
    asked: &AskedExplanation,
    (chosen, subject): (&Chosen, Option<usize>),
    session: &Session,
    programs: &Programs,
    dir: &Path,
) -> Result<Option<RunRow>> {
    let progress = &session.progress;
    let name = asked.name(chosen, subject);
    progress.show(&name);
    let seed = asked.config.seed;
    let config = plan::run::launch_config(&asked.config, chosen.cell, 1, subject, seed);
    let planned = u64::from(asked.plan.blocks);
    let mut done = 0;
    let programs = programs.for_launch(subject, None);
    let row = session.measure(config, &programs, dir, None, |message| {
        let CellMessage::Block(block) = message else {
            return Ok(());
        };
        if done < planned {
            done += 1;
            progress.advance(1);
        }
        let slow_samples_in = |&variant: &usize| block.slow_samples.get(variant);
        let samples = asked.plan.variants.iter().filter_map(slow_samples_in);
        let counts: Vec<String> = samples.map(u64::to_string).collect();
        progress.show(&format!(
            "{name}, {} of {ENOUGH_SLOW_SAMPLES} samples in slow polls",
            counts.join(" and ")
        ));
        Ok(())
    })?;
    // A cell that failed has fewer blocks than planned.
    progress.skip(planned - done);
    Ok(row)
}
