//! The node programs of a sweep. They are found or built before anything is measured.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use program::{Failure, bad_input, eprint_line, reject};
use run_format::{
    Budgets, LevelRecord, NodeDescription, SiteLevel, SubjectConfig, SweepConfig, VariantConfig,
};
use swarm_patch::layouts;
use swarm_patch::stacks::Stack;
use swarm_patch::subject::builder::Program;
use swarm_patch::subject::spec::SubjectSpec;

use crate::args::{is_of_this_workspace, refuse_both_ends};
use crate::cell::CellPrograms;
use crate::node_program::{NodeProgramArgs, describe};
use crate::subject_builds::{
    Builds, build_all, find_or_build, levels, open_builder, recorded_program, sources_as_recorded,
};

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
            let levels = levels(subject, &builds.builder).with_context(|| subject.label.clone())?;
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
            eprint_line(
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
    pub(crate) fn program_without_graft(&self, subject: &SubjectConfig) -> Result<PathBuf> {
        let mut sources = sources_as_recorded(subject, self.stack)?;
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
