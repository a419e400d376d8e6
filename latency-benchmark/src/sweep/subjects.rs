//! The programs of the subjects: found or built before anything is measured.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use swarm_patch::subject::workshop::{Built, EDITS, LOCK, Profile, Workshop};

use crate::{
    config::{Role, SubjectConfig},
    failure::{Failure, bad_input},
    store::{SUBJECTS, manifest::SweepConfig, run_writer::write_whole},
};

/// The programs, in the order of the subjects; one where there are none.
pub(super) struct Programs(Vec<PathBuf>);

/// This one.
const THIS: &str = "/proc/self/exe";

impl Programs {
    pub(super) fn of(&self, subject: Option<usize>) -> &Path {
        subject.map_or(Path::new(THIS), |subject| &self.0[subject])
    }

    /// Builds what is not built yet, and notes in the configuration what was built. All are looked at
    /// before any is built.
    pub(super) fn prepare(config: &mut SweepConfig) -> Result<Programs> {
        if config.subjects.iter().all(SubjectConfig::is_this_program) {
            return Ok(Programs(vec![THIS.into(); config.subjects.len()]));
        }
        let workshop = workshop()?;
        for subject in &config.subjects {
            check(subject, &workshop).with_context(|| subject.label.clone())?;
        }
        let mut programs = Vec::new();
        for subject in &mut config.subjects {
            let built = prepare(subject, &workshop).with_context(|| subject.label.clone())?;
            programs.push(path(built.as_ref()));
            subject.build = built.map(|built| built.record);
        }
        Ok(Programs(programs))
    }

    /// Those that the sweep began with.
    pub(super) fn find(config: &SweepConfig) -> Result<Programs, Failure> {
        let mut programs = Vec::new();
        for subject in &config.subjects {
            let built = find_again(subject)
                .with_context(|| format!("--resume: {}", subject.label))
                .map_err(bad_input)?;
            programs.push(path(built.as_ref()));
        }
        Ok(Programs(programs))
    }
}

fn path(built: Option<&Built>) -> PathBuf {
    built.map_or_else(|| THIS.into(), Built::program)
}

fn check(subject: &SubjectConfig, workshop: &Workshop) -> Result<()> {
    if subject.is_this_program() || subject.role == Role::Twin {
        return Ok(());
    }
    let found = subject.resolve()?;
    match workshop.find(&workshop.id(&found)?) {
        Some(_) => Ok(()),
        None => Workshop::check(&found),
    }
}

/// None for this program.
fn prepare(subject: &SubjectConfig, workshop: &Workshop) -> Result<Option<Built>> {
    if subject.is_this_program() {
        return Ok(None);
    }
    let found = subject.resolve()?;
    let yamux = found.yamux.as_ref().map(|yamux| yamux.record());
    if found.libp2p.record() != subject.libp2p || yamux != subject.yamux {
        bail!("it was changed meanwhile");
    }
    let id = workshop.id(&found)?;
    if let Some(built) = workshop.find(&id) {
        return Ok(Some(built));
    }
    if subject.role != Role::Twin {
        eprintln!("building {}, which can take minutes", subject.label);
    }
    workshop.build(&found, &id).map(Some)
}

fn find_again(subject: &SubjectConfig) -> Result<Option<Built>> {
    let Some(record) = &subject.build else {
        return Ok(None);
    };
    let workshop = workshop()?;
    if let Some(built) = workshop.find(&record.id) {
        if built.record == *record {
            return Ok(Some(built));
        }
        bail!("its program is another one now");
    }
    if workshop.id(&subject.resolve()?)? != record.id {
        bail!("its program is gone, and what it was built from has changed");
    }
    match prepare(subject, &workshop)? {
        Some(built) if built.record == *record => Ok(Some(built)),
        _ => bail!("its program is gone, and another one comes of building it again"),
    }
}

/// Subjects are built as this program was.
fn workshop() -> Result<Workshop> {
    Workshop::open(if cfg!(debug_assertions) {
        Profile::Debug
    } else {
        Profile::Release
    })
}

/// Writes what was inserted into each subject, and the versions that it was built with, to the folder of
/// the sweep.
pub(super) fn document(config: &SweepConfig, dir: &Path) -> Result<()> {
    for (number, subject) in config.subjects.iter().enumerate() {
        let (Some(record), false) = (&subject.build, subject.role == Role::Twin) else {
            continue;
        };
        let built = workshop()?
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
