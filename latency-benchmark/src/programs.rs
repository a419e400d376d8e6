//! The node programs of a sweep. They are found or built before anything is measured.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use program::{Failure, bad_input, in_words, reject, say};
use run_format::files::{MANIFEST, SUBJECTS, write_whole};
use run_format::{
    Budgets, LevelRecord, NodeDescription, Role, SiteLevel, SubjectConfig, SweepConfig,
    VariantConfig,
};
use swarm_patch::layouts;
use swarm_patch::stacks::Stack;
use swarm_patch::subject::Subject;
use swarm_patch::subject::builder::{Built, EDITS, LOCK, Profile, Program, SubjectBuilder};
use swarm_patch::subject::spec::SubjectSpec;

use crate::args::{is_of_this_workspace, refuse_both_ends, resolve};
use crate::cell::CellPrograms;
use crate::node_program::{NodeProgramArgs, describe};

pub(crate) struct Programs {
    stack: &'static Stack,
    /// The programs in the order of the subjects, or one program without subjects. The layouts of a program are in its folder.
    programs: Vec<PathBuf>,
    subjects: Vec<SubjectConfig>,
}

impl Programs {
    /// The programs of a new sweep. Builds what is not built yet, and notes in the configuration what was built. All subjects
    /// are checked before any is built.
    pub(crate) fn prepare(
        config: &mut SweepConfig,
        node: &NodeProgramArgs,
    ) -> Result<Programs, Failure> {
        if let Some(own) = Programs::own_programs(config, node, Program::Measuring)? {
            refuse_stable_tokio(config, &own.programs[0])?;
            refuse_unable_peers(config, &own.programs[0])?;
            return Ok(own);
        }
        let builds = Builds::plan(&config.subjects, node.stack, Program::Measuring)?;
        for subject in &config.subjects {
            let levels = check(subject, &builds.builder).with_context(|| subject.label.clone())?;
            refuse_unbounded(config, subject, &levels)?;
        }
        builds.announce();
        let mut programs = Vec::new();
        for subject in &mut config.subjects {
            let built = builds.find_or_build(subject)?;
            subject.layouts = layouts::count(&built.dir);
            subject.build = Some(built.record);
            programs.push(built.program);
        }
        if config.subjects.iter().any(|subject| subject.layouts == 0) {
            say(
                "the linker cannot vary the layout of some programs, so intervals do not include the effect of layout",
            );
        }
        Ok(Programs::new(config, node.stack, programs))
    }

    /// The programs of a sweep that is resumed. They have to be those with which it began.
    pub(crate) fn find_again(
        config: &SweepConfig,
        node: &NodeProgramArgs,
    ) -> Result<Programs, Failure> {
        if let Some(own) = Programs::own_programs(config, node, Program::Measuring)? {
            return Ok(own);
        }
        let builder = open_builder(node.stack)?;
        let mut programs = Vec::new();
        for subject in &config.subjects {
            let found = recorded_program(subject, &builder);
            let found = found.with_context(|| format!("--resume: {}", subject.label));
            programs.push(found.map_err(bad_input)?);
        }
        Ok(Programs::new(config, node.stack, programs))
    }

    /// The programs that explain. Builds what is not built yet.
    pub(crate) fn explaining(
        config: &SweepConfig,
        node: &NodeProgramArgs,
    ) -> Result<Programs, Failure> {
        if let Some(own) = Programs::own_programs(config, node, Program::Explaining)? {
            return Ok(own);
        }
        let programs = build_all(&config.subjects, node.stack, Program::Explaining)?;
        Ok(Programs::new(config, node.stack, programs))
    }

    /// This workspace's own program, which is that of every subject. None if a subject has other sources.
    fn own_programs(
        config: &SweepConfig,
        node: &NodeProgramArgs,
        kind: Program,
    ) -> Result<Option<Programs>, Failure> {
        if !config.subjects.iter().all(is_of_this_workspace) {
            return Ok(None);
        }
        let program = node.find(&config.node, kind)?;
        let programs = vec![program; config.subjects.len().max(1)];
        Ok(Some(Programs::new(config, node.stack, programs)))
    }

    fn new(config: &SweepConfig, stack: &'static Stack, programs: Vec<PathBuf>) -> Programs {
        Programs {
            stack,
            programs,
            subjects: config.subjects.clone(),
        }
    }

    /// The program of a subject without the inserted lines. Builds it if it is not built yet.
    pub(crate) fn without_lines(&self, subject: &SubjectConfig) -> Result<PathBuf> {
        let mut sources = unchanged(subject, self.stack)?;
        sources.is_plain = true;
        let label = |_: &str| subject.label.clone();
        Ok(find_or_build(&open_builder(self.stack)?, &sources, label)?.program)
    }

    /// The programs of a launch.
    pub(crate) fn for_launch(&self, subject: Option<usize>, layout: Option<u32>) -> CellPrograms {
        let central = subject.unwrap_or(0);
        let peer = self
            .subjects
            .get(central)
            .map_or(0, |subject| subject.peers);
        CellPrograms {
            central: self.in_layout(central, layout),
            peer: self.in_layout(peer, layout),
        }
    }

    /// The program in a layout. A subject may have no layouts although others have some. It runs the program as cargo links
    /// it.
    fn in_layout(&self, subject: usize, layout: Option<u32>) -> PathBuf {
        let program = &self.programs[subject];
        match (program.parent(), layout) {
            (Some(dir), Some(layout)) if self.subjects[subject].layouts > 0 => {
                layouts::file(dir, layout)
            }
            _ => program.clone(),
        }
    }

    pub(crate) fn describe(&self) -> Result<NodeDescription> {
        describe(&self.programs[0])
    }
}

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
struct Builds {
    builder: SubjectBuilder,
    missing: Vec<MissingProgram>,
}

/// A program that is not built yet.
struct MissingProgram {
    id: String,
    /// The label of the first subject that has it.
    label: String,
}

impl Builds {
    fn plan(subjects: &[SubjectConfig], stack: &'static Stack, kind: Program) -> Result<Builds> {
        let builder = open_builder(stack)?.with_program(kind);
        let mut missing: Vec<MissingProgram> = Vec::new();
        for subject in subjects {
            let sources = unchanged(subject, stack).with_context(|| subject.label.clone())?;
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

    fn announce(&self) {
        if let Some(line) = self.line() {
            say(line);
        }
    }

    fn find_or_build(&self, subject: &SubjectConfig) -> Result<Built> {
        let label = &subject.label;
        let title = |id: &str| match self.missing.iter().position(|missing| missing.id == id) {
            Some(index) => format!("{label} ({} of {})", index + 1, self.missing.len()),
            None => label.clone(),
        };
        unchanged(subject, self.builder.stack)
            .and_then(|sources| find_or_build(&self.builder, &sources, title))
            .with_context(|| label.clone())
    }
}

/// The program of some sources. `title` is the name that is shown while the program with an id is built.
fn find_or_build(
    builder: &SubjectBuilder,
    sources: &Subject,
    title: impl Fn(&str) -> String,
) -> Result<Built> {
    let id = builder.id(sources)?;
    let found = builder.find(&id);
    found.map_or_else(|| builder.build(sources, &id, &title(&id)), Ok)
}

fn refuse_stable_tokio(config: &SweepConfig, program: &Path) -> Result<(), Failure> {
    const UNSTABLE: &str = "--cfg tokio_unstable";
    let mut runtimes = config.subjects.iter().filter_map(|subject| subject.runtime);
    if runtimes.any(|runtime| runtime.needs_unstable_tokio())
        && !describe(program)?.program.rustflags.contains(UNSTABLE)
    {
        reject!(
            "--runtime-setting: the node program {} was built without tokio's unstable options (start the sweep with RUSTFLAGS='{UNSTABLE}')",
            program.display()
        );
    }
    Ok(())
}

/// What can be recorded or bounded at each site of the subject. A site without a record lacks nothing.
fn check(subject: &SubjectConfig, builder: &SubjectBuilder) -> Result<Vec<LevelRecord>> {
    if subject.role == Role::Control {
        return Ok(Vec::new());
    }
    let sources = resolve(builder.stack, subject)?;
    match builder.find(&builder.id(&sources)?) {
        Some(built) => Ok(built.record.levels),
        None => builder.check(&sources),
    }
}

fn refuse_unable_peers(config: &SweepConfig, program: &Path) -> Result<(), Failure> {
    if describe(program)?.peers_follow {
        return Ok(());
    }
    let budgets = config.variants.iter().map(|variant| variant.budgets);
    let why = "peers of this --node have no page of memory in common with central";
    refuse_both_ends(&budgets.collect::<Vec<_>>(), why)
}

fn refuse_unbounded(
    config: &SweepConfig,
    subject: &SubjectConfig,
    levels: &[LevelRecord],
) -> Result<(), Failure> {
    let has_remedy = |budgets: &Budgets| budgets.remedies().next().is_some();
    // A subject whose patch has a remedy works in one fixed way, and its variants cannot choose another.
    let spec: Option<SubjectSpec> = subject.spec.parse().ok();
    let patch = spec.and_then(|spec| spec.budgets);
    let has_fixed_way = patch.as_ref().is_some_and(has_remedy);
    for VariantConfig { budgets, .. } in &config.variants {
        for level in levels {
            let Some(reason) = &level.not_there else {
                continue;
            };
            let site = level.site;
            let what = match level.level {
                SiteLevel::Budget if budgets.at(site).is_some() => "be bounded",
                SiteLevel::Remedies if has_remedy(budgets) && !has_fixed_way => "have its remedies",
                _ => continue,
            };
            reject!(
                "--budget {budgets}: the site {site} of {} cannot {what}: {reason}",
                subject.label
            );
        }
    }
    Ok(())
}

/// The sources of a subject. Refuses sources that are not those of its record.
fn unchanged(subject: &SubjectConfig, stack: &Stack) -> Result<Subject> {
    let sources = resolve(stack, subject)?;
    if sources.source.record != subject.libp2p || sources.layer_records() != subject.layers {
        bail!("the checkout changed since the sweep began (start again)");
    }
    Ok(sources)
}

/// The program with which a sweep began. Builds it again if it was deleted.
fn recorded_program(subject: &SubjectConfig, builder: &SubjectBuilder) -> Result<PathBuf> {
    let no_record =
        || format!("{MANIFEST} has no record of the build (the sweep is from an older version)");
    let record = subject.build.as_ref().with_context(no_record)?;
    let built = match builder.find(&record.id) {
        Some(built) if built.record != *record => bail!("its program has changed"),
        Some(built) => built,
        None => {
            if builder.id(&resolve(builder.stack, subject)?)? != record.id {
                bail!("its program was deleted, and its sources have changed since");
            }
            let sources = unchanged(subject, builder.stack)?;
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
fn open_builder(stack: &'static Stack) -> Result<SubjectBuilder> {
    let profile = match cfg!(debug_assertions) {
        true => Profile::Debug,
        false => Profile::Release,
    };
    SubjectBuilder::open(stack, profile)
}

/// Writes the lines that were inserted into each subject, and its lock file, to the folder of the sweep.
pub(crate) fn document(config: &SweepConfig, stack: &'static Stack, dir: &Path) -> Result<()> {
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
