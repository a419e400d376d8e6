//! The node programs of a sweep: found or built before anything is measured.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use program::{Failure, bad_input, reject, say};
use run_format::config::SweepConfig;
use run_format::files::{SUBJECTS, write_whole};
use run_format::protocol::NodeDescription;
use run_format::subject::{LevelRecord, SiteLevel, SubjectConfig};
use run_format::variant::Role;
use swarm_patch::stacks::Stack;
use swarm_patch::subject::builder::{Built, EDITS, LOCK, Profile, SubjectBuilder};

use crate::args::subjects::{is_of_this_workspace, resolve};
use crate::node_program::{NodeProgramArgs, describe};

pub(crate) struct Programs {
    /// In the order of the subjects; one where there are none.
    central: Vec<PathBuf>,
    /// The same for the peers of each.
    peers: Vec<PathBuf>,
}

impl Programs {
    fn of(central: Vec<PathBuf>, subjects: &[SubjectConfig]) -> Programs {
        let peers = match subjects {
            [] => central.clone(),
            _ => subjects
                .iter()
                .map(|subject| central[subject.peers].clone())
                .collect(),
        };
        Programs { central, peers }
    }

    /// Those of central and of its peers.
    pub(crate) fn for_subject(&self, subject: Option<usize>) -> (&Path, &Path) {
        let subject = subject.unwrap_or(0);
        (&self.central[subject], &self.peers[subject])
    }

    pub(crate) fn describe(&self) -> Result<NodeDescription> {
        describe(&self.central[0])
    }

    /// Builds what is not built yet, and notes in the configuration what was built. All subjects are checked
    /// before any is built.
    pub(crate) fn prepare(
        config: &mut SweepConfig,
        node: &NodeProgramArgs,
    ) -> Result<Programs, Failure> {
        if config.subjects.iter().all(is_of_this_workspace) {
            let program = node.plain(&config.node)?;
            refuse_stable_tokio(config, &program)?;
            let programs = vec![program; config.subjects.len().max(1)];
            return Ok(Programs::of(programs, &config.subjects));
        }
        let builder = builder(node.stack)?;
        for subject in &config.subjects {
            let levels = check(subject, &builder).with_context(|| subject.label.clone())?;
            refuse_unbounded(config, subject, &levels)?;
        }
        let mut programs = Vec::new();
        for subject in &mut config.subjects {
            let built = prepare(subject, &builder).with_context(|| subject.label.clone())?;
            programs.push(match &built {
                Some(built) => built.program.clone(),
                None => node.plain(&config.node)?,
            });
            subject.build = built.map(|built| built.record);
        }
        Ok(Programs::of(programs, &config.subjects))
    }

    /// Those that explain, of the same sources. Builds what is not built yet.
    pub(crate) fn counting(
        config: &SweepConfig,
        node: &NodeProgramArgs,
    ) -> Result<Programs, Failure> {
        let own = || node.counting(&config.node);
        if config.subjects.iter().all(is_of_this_workspace) {
            let programs = vec![own()?; config.subjects.len().max(1)];
            return Ok(Programs::of(programs, &config.subjects));
        }
        let builder = builder(node.stack)?.counting();
        let program = |subject: &SubjectConfig| {
            let built = prepare(subject, &builder).with_context(|| subject.label.clone())?;
            built.map_or_else(own, |built| Ok(built.program))
        };
        let programs = config.subjects.iter().map(program);
        let programs = programs.collect::<Result<_, Failure>>()?;
        Ok(Programs::of(programs, &config.subjects))
    }

    pub(crate) fn find(config: &SweepConfig, node: &NodeProgramArgs) -> Result<Programs, Failure> {
        let of_this_workspace = || node.plain(&config.node);
        if config.subjects.is_empty() {
            return Ok(Programs::of(vec![of_this_workspace()?], &[]));
        }
        let program = |subject: &SubjectConfig| {
            let built = find_again(subject, node.stack)
                .with_context(|| format!("--resume: {}", subject.label))
                .map_err(bad_input)?;
            built.map_or_else(of_this_workspace, |built| Ok(built.program))
        };
        let programs = config.subjects.iter().map(program);
        let programs = programs.collect::<Result<_, Failure>>()?;
        Ok(Programs::of(programs, &config.subjects))
    }
}

fn refuse_stable_tokio(config: &SweepConfig, program: &Path) -> Result<(), Failure> {
    const UNSTABLE: &str = "--cfg tokio_unstable";
    let mut runtimes = config.subjects.iter().filter_map(|subject| subject.runtime);
    let needs_it = runtimes.any(|runtime| runtime.lifo_slot_off || runtime.eager_driver_handoff);
    if needs_it && !describe(program)?.program.rustflags.contains(UNSTABLE) {
        reject!(
            "--runtime-setting: the node program {} was built without tokio's unstable options (start the sweep with RUSTFLAGS='{UNSTABLE}')",
            program.display()
        );
    }
    Ok(())
}

/// What is recorded of a subject. Everything is where nothing is said.
fn check(subject: &SubjectConfig, builder: &SubjectBuilder) -> Result<Vec<LevelRecord>> {
    if is_of_this_workspace(subject) || subject.role == Role::Control {
        return Ok(Vec::new());
    }
    let found = resolve(builder.stack, subject)?;
    match builder.find(&builder.id(&found)?) {
        Some(built) => Ok(built.record.levels),
        None => builder.check(&found),
    }
}

/// Refuses budgets that would do nothing to a subject.
fn refuse_unbounded(
    config: &SweepConfig,
    subject: &SubjectConfig,
    levels: &[LevelRecord],
) -> Result<(), Failure> {
    for variant in &config.variants {
        for level in levels {
            let site = level.site;
            let is_bounded = level.level == SiteLevel::Budget && variant.budgets.at(site).is_some();
            if let Some(reason) = level.not_there.as_ref().filter(|_| is_bounded) {
                reject!(
                    "--budget {}: the site {site} of {} cannot be bounded: {reason}",
                    variant.budgets,
                    subject.label
                );
            }
        }
    }
    Ok(())
}

/// None for the program of this workspace.
fn prepare(subject: &SubjectConfig, builder: &SubjectBuilder) -> Result<Option<Built>> {
    if is_of_this_workspace(subject) {
        return Ok(None);
    }
    let found = resolve(builder.stack, subject)?;
    let yamux = found.yamux.as_ref().map(|yamux| yamux.record.clone());
    if found.source.record() != subject.libp2p || yamux != subject.yamux {
        bail!("the checkout changed since the sweep began (start again)");
    }
    let id = builder.id(&found)?;
    if let Some(built) = builder.find(&id) {
        return Ok(Some(built));
    }
    if subject.role != Role::Control {
        say(format!(
            "building {}, which can take minutes",
            subject.label
        ));
    }
    builder.build(&found, &id).map(Some)
}

fn find_again(subject: &SubjectConfig, stack: &'static Stack) -> Result<Option<Built>> {
    let Some(record) = &subject.build else {
        return Ok(None);
    };
    let builder = builder(stack)?;
    if let Some(built) = builder.find(&record.id) {
        if built.record == *record {
            return Ok(Some(built));
        }
        bail!("its program has changed");
    }
    if builder.id(&resolve(stack, subject)?)? != record.id {
        bail!("its program was deleted, and its sources have changed since");
    }
    match prepare(subject, &builder)? {
        Some(built) if built.record == *record => Ok(Some(built)),
        _ => bail!("its program is gone, and building it again gives another one"),
    }
}

/// Subjects are built as the node program of this workspace is.
fn builder(stack: &'static Stack) -> Result<SubjectBuilder> {
    let profile = match cfg!(debug_assertions) {
        true => Profile::Debug,
        false => Profile::Release,
    };
    SubjectBuilder::open(stack, profile)
}

/// Writes what was inserted into each subject, and the versions that it was built with, to the folder of
/// the sweep.
pub(crate) fn document(config: &SweepConfig, stack: &'static Stack, dir: &Path) -> Result<()> {
    for (number, subject) in config.subjects.iter().enumerate() {
        let (Some(record), false) = (&subject.build, subject.role == Role::Control) else {
            continue;
        };
        let built = builder(stack)?
            .find(&record.id)
            .context("its program is gone")?;
        let folder = dir.join(SUBJECTS).join(number.to_string());
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        for name in [EDITS, LOCK] {
            write_whole(
                &folder.join(name),
                &fs::read_to_string(built.dir.join(name))?,
            )?;
        }
    }
    Ok(())
}
