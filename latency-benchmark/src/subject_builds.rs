//! Finds the programs of subjects, and builds those that are missing.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use program::{eprint_line, in_words};
use run_format::files::{MANIFEST, SUBJECTS, write_whole};
use run_format::{LevelRecord, Role, SubjectConfig, SweepConfig};
use swarm_patch::layouts;
use swarm_patch::stacks::Stack;
use swarm_patch::subject::Subject;
use swarm_patch::subject::builder::{Built, EDITS, LOCK, Profile, Program, SubjectBuilder};

use crate::args::{is_of_this_workspace, resolve};

/// The programs of subjects. Builds what is not built yet.
pub(crate) fn build_all(
    subjects: &[SubjectConfig],
    stack: &'static Stack,
    kind: Program,
) -> Result<Vec<PathBuf>> {
    let builds = Builds::plan(subjects, stack, kind)?;
    builds.announce();
    let programs = subjects.iter();
    let programs = programs.map(|subject| Ok(builds.find_or_build(subject)?.program));
    programs.collect()
}

/// A line that names the programs that still have to be built, if there are any.
pub(crate) fn to_build(
    config: &SweepConfig,
    stack: &'static Stack,
    kind: Program,
) -> Result<Option<String>> {
    if config.subjects.iter().all(is_of_this_workspace) {
        return Ok(None);
    }
    Ok(Builds::plan(&config.subjects, stack, kind)?.line())
}

/// Builds the programs of subjects.
pub(crate) struct Builds {
    pub(crate) builder: SubjectBuilder,
    missing: Vec<MissingProgram>,
}

/// A program that is not built yet.
struct MissingProgram {
    id: String,
    /// The label of the first subject that has it.
    label: String,
}

impl Builds {
    pub(crate) fn plan(
        subjects: &[SubjectConfig],
        stack: &'static Stack,
        kind: Program,
    ) -> Result<Builds> {
        let builder = open_builder(stack)?.with_program(kind);
        let mut missing: Vec<MissingProgram> = Vec::new();
        for subject in subjects {
            let sources =
                sources_as_recorded(subject, stack).with_context(|| subject.label.clone())?;
            let id = builder.id(&sources)?;
            let is_new = missing.iter().all(|known| known.id != id);
            if is_new && builder.find(&id).is_none() {
                let label = subject.label.clone();
                missing.push(MissingProgram { id, label });
            }
        }
        Ok(Builds { builder, missing })
    }

    /// A line that names the missing programs, and how long the last such build took.
    fn line(&self) -> Option<String> {
        let labels: Vec<&str> = self.missing.iter().map(|program| &*program.label).collect();
        let time = self.builder.last_time().map_or_else(String::new, |time| {
            format!(" (the last such build took {})", in_words(time))
        });
        (!labels.is_empty()).then(|| format!("to be built: {}{time}", labels.join(", ")))
    }

    pub(crate) fn announce(&self) {
        if let Some(line) = self.line() {
            eprint_line(line);
        }
    }

    pub(crate) fn find_or_build(&self, subject: &SubjectConfig) -> Result<Built> {
        let label = &subject.label;
        let title = |id: &str| match self.missing.iter().position(|missing| missing.id == id) {
            Some(index) => format!("{label} ({} of {})", index + 1, self.missing.len()),
            None => label.clone(),
        };
        sources_as_recorded(subject, self.builder.stack)
            .and_then(|sources| find_or_build(&self.builder, &sources, title))
            .with_context(|| label.clone())
    }
}

/// The program of some sources. `title` is the name that is shown while the program with an id is built.
pub(crate) fn find_or_build(
    builder: &SubjectBuilder,
    sources: &Subject,
    title: impl Fn(&str) -> String,
) -> Result<Built> {
    let id = builder.id(sources)?;
    let found = builder.find(&id);
    found.map_or_else(|| builder.build(sources, &id, &title(&id)), Ok)
}

/// The levels of each site of the subject, which say what can be recorded or bounded. A site without a record lacks nothing.
pub(crate) fn levels(
    subject: &SubjectConfig,
    builder: &SubjectBuilder,
) -> Result<Vec<LevelRecord>> {
    if subject.role == Role::Control {
        return Ok(Vec::new());
    }
    let sources = resolve(builder.stack, subject)?;
    match builder.find(&builder.id(&sources)?) {
        Some(built) => Ok(built.record.levels),
        None => builder.check(&sources),
    }
}

/// The sources of a subject. Refuses sources that are not those of its record.
pub(crate) fn sources_as_recorded(subject: &SubjectConfig, stack: &Stack) -> Result<Subject> {
    let sources = resolve(stack, subject)?;
    if sources.source.record != subject.libp2p || sources.layer_records() != subject.layers {
        bail!("the checkout changed since the sweep began (start again)");
    }
    Ok(sources)
}

/// The program with which a sweep began. Builds it again if it was deleted.
pub(crate) fn recorded_program(
    subject: &SubjectConfig,
    builder: &SubjectBuilder,
) -> Result<PathBuf> {
    let no_record = || format!("{MANIFEST} has no record of the build");
    let record = subject.build.as_ref().with_context(no_record)?;
    let built = match builder.find(&record.id) {
        Some(built) if built.record != *record => bail!("its program has changed"),
        Some(built) => built,
        None => {
            if builder.id(&resolve(builder.stack, subject)?)? != record.id {
                bail!("its program was deleted, and its sources have changed since");
            }
            let sources = sources_as_recorded(subject, builder.stack)?;
            builder.build(&sources, &record.id, &subject.label)?
        }
    };
    if built.record != *record {
        bail!("its program is gone, and building it again gives another one");
    }
    if layouts::count(&built.dir) != subject.layouts {
        bail!(
            "its layouts are not those that it had (delete {} to have them linked again)",
            built.dir.display()
        );
    }
    Ok(built.program)
}

/// Builds subjects with the profile of this workspace's node program.
pub(crate) fn open_builder(stack: &'static Stack) -> Result<SubjectBuilder> {
    let profile = match cfg!(debug_assertions) {
        true => Profile::Debug,
        false => Profile::Release,
    };
    SubjectBuilder::open(stack, profile)
}

/// Writes the lines that were inserted into each subject, and its lock file, to the folder of the sweep.
pub(crate) fn write_edits_and_locks(
    config: &SweepConfig,
    stack: &'static Stack,
    dir: &Path,
) -> Result<()> {
    for (number, subject) in config.subjects.iter().enumerate() {
        let Some(record) = &subject.build else {
            continue;
        };
        if subject.role == Role::Control {
            continue;
        }
        let built = open_builder(stack)?.find(&record.id);
        let built = built.context("its program is gone")?;
        let folder = dir.join(SUBJECTS).join(number.to_string());
        fs::create_dir_all(&folder)?;
        for name in [EDITS, LOCK] {
            let text = fs::read_to_string(built.dir.join(name))?;
            write_whole(&folder.join(name), &text)?;
        }
    }
    Ok(())
}
