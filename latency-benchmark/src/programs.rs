//! The node programs of a sweep. They are found or built before anything is measured.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use program::{Failure, bad_input, in_words, reject, say};
use run_format::files::{SUBJECTS, write_whole};
use run_format::{
    Budgets, LevelRecord, NodeDescription, Role, SiteLevel, SubjectConfig, SweepConfig,
};
use swarm_patch::layouts;
use swarm_patch::stacks::Stack;
use swarm_patch::subject::Subject;
use swarm_patch::subject::builder::{Built, EDITS, LOCK, Profile, Program, SubjectBuilder};
use swarm_patch::subject::spec::Spec;

use crate::args::{is_of_this_workspace, refuse_both_ends, resolve};
use crate::node_program::{NodeProgramArgs, describe};

pub(crate) struct Programs {
    stack: &'static Stack,
    /// The programs in the order of the subjects, or one program without subjects. The layouts of a program are in its folder.
    programs: Vec<PathBuf>,
    subjects: Vec<SubjectConfig>,
}

impl Programs {
    /// The workspace's own program for all subjects if they have its sources. Otherwise `find` returns the program of each
    /// subject.
    fn of_subjects(
        config: &SweepConfig,
        node: &NodeProgramArgs,
        kind: Program,
        find: impl Fn(&SubjectConfig, &SubjectBuilder) -> Result<PathBuf, Failure>,
    ) -> Result<Programs, Failure> {
        let (stack, subjects) = (node.stack, &config.subjects);
        let programs = if subjects.iter().all(is_of_this_workspace) {
            vec![node.find(&config.node, kind)?; subjects.len().max(1)]
        } else {
            let builder = builder(stack)?.with_program(kind);
            let programs = subjects.iter().map(|subject| find(subject, &builder));
            programs.collect::<Result<_, _>>()?
        };
        Ok(Programs {
            stack,
            programs,
            subjects: subjects.clone(),
        })
    }

    /// The program of a subject without the inserted lines. Builds it if it is not built yet.
    pub(crate) fn without_lines(&self, subject: &SubjectConfig) -> Result<PathBuf> {
        let builder = builder(self.stack)?;
        let mut found = unchanged(subject, self.stack)?;
        found.is_plain = true;
        let id = builder.id(&found)?;
        let built = builder.find(&id);
        let built = built.map_or_else(|| builder.build(&found, &id, &subject.label), Ok)?;
        Ok(built.program)
    }

    /// The program of central.
    pub(crate) fn central(&self, subject: Option<usize>, layout: Option<u32>) -> PathBuf {
        self.in_layout(subject.unwrap_or(0), layout)
    }

    /// The program of the peers.
    pub(crate) fn peer(&self, subject: Option<usize>, layout: Option<u32>) -> PathBuf {
        let subject = self.subjects.get(subject.unwrap_or(0));
        self.in_layout(subject.map_or(0, |subject| subject.peers), layout)
    }

    /// The program in a layout. A subject may have no layouts although others have some. It runs the program as cargo links it.
    fn in_layout(&self, number: usize, layout: Option<u32>) -> PathBuf {
        let program = &self.programs[number];
        match (program.parent(), layout) {
            (Some(dir), Some(layout)) if self.subjects[number].layouts > 0 => {
                layouts::file(dir, layout)
            }
            _ => program.clone(),
        }
    }

    pub(crate) fn describe(&self) -> Result<NodeDescription> {
        describe(&self.programs[0])
    }

    /// Builds what is not built yet, and notes in the configuration what was built. All subjects are checked
    /// before any is built.
    pub(crate) fn prepare(
        config: &mut SweepConfig,
        node: &NodeProgramArgs,
    ) -> Result<Programs, Failure> {
        if config.subjects.iter().all(is_of_this_workspace) {
            let programs = Programs::find(config, node)?;
            refuse_stable_tokio(config, &programs.programs[0])?;
            refuse_unable_peers(config, &programs.programs[0])?;
            return Ok(programs);
        }
        let builder = builder(node.stack)?;
        for subject in &config.subjects {
            let levels = check(subject, &builder).with_context(|| subject.label.clone())?;
            refuse_unbounded(config, subject, &levels)?;
        }
        let to_build = ToBuild::find(&config.subjects, &builder)?;
        to_build.say();
        for subject in &mut config.subjects {
            let built = prepare(subject, &builder, &to_build);
            let built = built.with_context(|| subject.label.clone())?;
            subject.build = Some(built.record);
            subject.layouts = layouts::count(&built.dir);
        }
        if config.subjects.iter().any(|subject| subject.layouts == 0) {
            say(
                "some programs have one layout, since the linker cannot vary it, so intervals do not include what other layouts change",
            );
        }
        Programs::find(config, node)
    }

    /// The programs that explain. Builds what is not built yet.
    pub(crate) fn explaining(
        config: &SweepConfig,
        node: &NodeProgramArgs,
    ) -> Result<Programs, Failure> {
        let to_build = ToBuild::for_sweep(config, node.stack, Program::Explaining)?;
        to_build.say();
        Programs::of_subjects(config, node, Program::Explaining, |subject, builder| {
            let built = prepare(subject, builder, &to_build);
            Ok(built.with_context(|| subject.label.clone())?.program)
        })
    }

    pub(crate) fn find(config: &SweepConfig, node: &NodeProgramArgs) -> Result<Programs, Failure> {
        Programs::of_subjects(config, node, Program::Measuring, |subject, builder| {
            let resumed = || format!("--resume: {}", subject.label);
            let built = find_again(subject, builder).with_context(resumed);
            let built = built.map_err(bad_input)?;
            if layouts::count(&built.dir) != subject.layouts {
                reject!(
                    "{}: its layouts are not those that it had (delete {} to have them linked again)",
                    resumed(),
                    built.dir.display()
                );
            }
            Ok(built.program)
        })
    }
}

/// The programs of subjects that count for `--gate`. Builds what is not built yet.
pub(crate) fn gate_programs(
    subjects: &[SubjectConfig],
    stack: &'static Stack,
) -> Result<Vec<PathBuf>> {
    let builder = builder(stack)?.with_program(Program::Gate);
    let to_build = ToBuild::find(subjects, &builder)?;
    to_build.say();
    let programs = subjects.iter().map(|subject| {
        let built = prepare(subject, &builder, &to_build);
        Ok(built.with_context(|| subject.label.clone())?.program)
    });
    programs.collect()
}

/// The subjects whose programs are not built yet.
#[derive(Default)]
struct ToBuild {
    /// The id of each program, and the first subject with it.
    programs: Vec<(String, String)>,
    last_time: Option<Duration>,
}

impl ToBuild {
    fn for_sweep(config: &SweepConfig, stack: &'static Stack, kind: Program) -> Result<ToBuild> {
        if config.subjects.iter().all(is_of_this_workspace) {
            return Ok(ToBuild::default());
        }
        ToBuild::find(&config.subjects, &builder(stack)?.with_program(kind))
    }

    fn find(subjects: &[SubjectConfig], builder: &SubjectBuilder) -> Result<ToBuild> {
        let mut programs: Vec<(String, String)> = Vec::new();
        for subject in subjects {
            let found = unchanged(subject, builder.stack);
            let id = builder.id(&found.with_context(|| subject.label.clone())?)?;
            if programs.iter().all(|(known, _)| *known != id) && builder.find(&id).is_none() {
                programs.push((id, subject.label.clone()));
            }
        }
        Ok(ToBuild {
            programs,
            last_time: builder.last_time(),
        })
    }

    /// A line that names the programs, and how long the last such build took.
    fn line(&self) -> Option<String> {
        let labels: Vec<&str> = self.programs.iter().map(|(_, label)| &**label).collect();
        let time = self.last_time.map_or_else(String::new, |time| {
            format!(" (the last such build took {})", in_words(time))
        });
        (!labels.is_empty()).then(|| format!("to be built: {}{time}", labels.join(", ")))
    }

    fn say(&self) {
        if let Some(line) = self.line() {
            say(line);
        }
    }

    /// The name that is shown while a subject is built.
    fn title(&self, id: &str, label: &str) -> String {
        let number = self.programs.iter().position(|(known, _)| known == id);
        number.map_or_else(
            || label.to_owned(),
            |number| format!("{label} ({} of {})", number + 1, self.programs.len()),
        )
    }
}

/// A line that names the programs that still have to be built, if there are any.
pub(crate) fn to_build(
    config: &SweepConfig,
    stack: &'static Stack,
    kind: Program,
) -> Result<Option<String>> {
    Ok(ToBuild::for_sweep(config, stack, kind)?.line())
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

/// The levels of each site that the subject has or lacks. A site without a record has all levels.
fn check(subject: &SubjectConfig, builder: &SubjectBuilder) -> Result<Vec<LevelRecord>> {
    if subject.role == Role::Control {
        return Ok(Vec::new());
    }
    let found = resolve(builder.stack, subject)?;
    match builder.find(&builder.id(&found)?) {
        Some(built) => Ok(built.record.levels),
        None => builder.check(&found),
    }
}

fn refuse_unable_peers(config: &SweepConfig, program: &Path) -> Result<(), Failure> {
    let budgets: Vec<Budgets> = config
        .variants
        .iter()
        .map(|variant| variant.budgets)
        .collect();
    let why = "peers of this --node have no page of memory in common with central";
    match describe(program)?.peers_follow {
        true => Ok(()),
        false => refuse_both_ends(&budgets, why),
    }
}

fn refuse_unbounded(
    config: &SweepConfig,
    subject: &SubjectConfig,
    levels: &[LevelRecord],
) -> Result<(), Failure> {
    // A subject whose patch has a remedy works in one fixed way, and its variants cannot choose another.
    let spec: Option<Spec> = subject.spec.parse().ok();
    let has_fixed_way = spec.is_some_and(|spec| {
        let patch = spec.budgets;
        patch.is_some_and(|patch| patch.remedies().next().is_some())
    });
    for variant in &config.variants {
        for level in levels {
            let site = level.site;
            let (is_asked, what) = match level.level {
                SiteLevel::Budget => (variant.budgets.at(site).is_some(), "be bounded"),
                SiteLevel::Remedies if has_fixed_way => (false, ""),
                SiteLevel::Remedies => (
                    variant.budgets.remedies().next().is_some(),
                    "have its remedies",
                ),
                SiteLevel::Outer | SiteLevel::Inner => (false, ""),
            };
            if let Some(reason) = level.not_there.as_ref().filter(|_| is_asked) {
                reject!(
                    "--budget {}: the site {site} of {} cannot {what}: {reason}",
                    variant.budgets,
                    subject.label
                );
            }
        }
    }
    Ok(())
}

fn prepare(subject: &SubjectConfig, builder: &SubjectBuilder, to_build: &ToBuild) -> Result<Built> {
    let found = unchanged(subject, builder.stack)?;
    let id = builder.id(&found)?;
    let title = || to_build.title(&id, &subject.label);
    let built = builder.find(&id);
    built.map_or_else(|| builder.build(&found, &id, &title()), Ok)
}

fn unchanged(subject: &SubjectConfig, stack: &Stack) -> Result<Subject> {
    let found = resolve(stack, subject)?;
    if found.source.record != subject.libp2p || found.layer_records() != subject.layers {
        bail!("the checkout changed since the sweep began (start again)");
    }
    Ok(found)
}

fn find_again(subject: &SubjectConfig, builder: &SubjectBuilder) -> Result<Built> {
    let record = subject.build.as_ref();
    let record = record.context("the version that began the sweep built its program otherwise")?;
    if let Some(built) = builder.find(&record.id) {
        if built.record == *record {
            return Ok(built);
        }
        bail!("its program has changed");
    }
    if builder.id(&resolve(builder.stack, subject)?)? != record.id {
        bail!("its program was deleted, and its sources have changed since");
    }
    let built = prepare(subject, builder, &ToBuild::default())?;
    if built.record != *record {
        bail!("its program is gone, and building it again gives another one");
    }
    Ok(built)
}

/// Builds subjects with the profile of this workspace's node program.
fn builder(stack: &'static Stack) -> Result<SubjectBuilder> {
    let profile = match cfg!(debug_assertions) {
        true => Profile::Debug,
        false => Profile::Release,
    };
    SubjectBuilder::open(stack, profile)
}

/// Writes the lines that were inserted into each subject, and its lock file, to the folder of the sweep.
pub(crate) fn document(config: &SweepConfig, stack: &'static Stack, dir: &Path) -> Result<()> {
    for (number, subject) in config.subjects.iter().enumerate() {
        let (Some(record), false) = (&subject.build, subject.role == Role::Control) else {
            continue;
        };
        let built = builder(stack)?.find(&record.id);
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
