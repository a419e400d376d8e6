//! Builds the benchmark against subjects, and keeps the programs.
//!
//! ```text
//! target/subjects/
//!     build/              what all builds share
//!         workspace/      our workspace, copied
//!         upstream/       the subject's libp2p, grafted
//!         yamux/          the subject's yamux, grafted
//!         crates/         crates with sites that come from the registry, copied and grafted
//!         config.toml     has cargo take those in the place of the registry's
//!         target/
//!     ID/                 a subject: latency-benchmark, subject.json, edits.diff, Cargo.lock
//! ```
//!
//! All subjects are built in the same folders, one after the other, and of their files only those are
//! written that differ. So cargo builds anew what differs and what depends on it; and to the compiler all
//! subjects have the same names, so that code that is the same is laid out alike.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::{
    Libp2p, Subject,
    build::Build,
    compiler,
    crates::{self, UPSTREAM},
    ours,
    record::{BuildRecord, SourceRecord},
};
use crate::graft::graft;

/// The program of a subject, in its folder.
pub const PROGRAM: &str = "latency-benchmark";
/// What was inserted, beside it.
pub const EDITS: &str = "edits.diff";
/// The versions that it was built with, beside it.
pub const LOCK: &str = "Cargo.lock";
/// What is known of it, beside it; written last.
pub(super) const RECORD: &str = "subject.json";
/// Begins the names of folders that last as long as a build.
pub(super) const STAGE: &str = "stage-";

/// How programs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// As what is measured.
    Release,
    /// As tests.
    Debug,
}

/// Where programs are built and kept.
pub struct Workshop {
    pub(super) dir: PathBuf,
    /// This workspace.
    pub(super) ours: PathBuf,
    /// Of our sources, when it was opened.
    pub(super) ours_sha256: String,
    pub(super) profile: Profile,
}

/// A program that was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// Its folder.
    pub dir: PathBuf,
    /// What is known of it.
    pub record: BuildRecord,
}

impl Built {
    /// Its file.
    pub fn program(&self) -> PathBuf {
        self.dir.join(PROGRAM)
    }
}

impl Workshop {
    /// In the target folder of this workspace.
    pub fn open(profile: Profile) -> Result<Workshop> {
        let ours = ours::root()?;
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| ours.join("target"), Into::into);
        let dir = target.join("subjects");
        fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        Ok(Workshop {
            dir: fs::canonicalize(dir)?,
            ours_sha256: ours::digest(&ours)?,
            ours,
            profile,
        })
    }

    /// Names a subject by all that its program is made of.
    pub fn id(&self, subject: &Subject) -> Result<String> {
        let yamux = subject.yamux.as_ref().map(|yamux| content(yamux.record()));
        let sources = (content(subject.libp2p.record()), yamux);
        let parts = [
            "1".to_owned(), // Counts changes of how programs are made that nothing below shows.
            serde_json::to_string(&sources)?,
            self.ours_sha256.clone(),
            compiler::rustc(&self.ours)?,
            compiler::flags(),
            format!("{:?}", self.profile),
            self.dir.display().to_string(),
        ];
        let digest = format!("{:x}", Sha256::digest(parts.join("\0")));
        Ok(digest[..16].to_owned())
    }

    /// The program of that name, if it was built and is as it was then.
    pub fn find(&self, id: &str) -> Option<Built> {
        let dir = self.dir.join(id);
        let text = fs::read_to_string(dir.join(RECORD)).ok()?;
        let built = Built {
            record: serde_json::from_str(&text).ok()?,
            dir,
        };
        let is_whole = sha256(&built.program()).ok()? == built.record.program_sha256;
        is_whole.then_some(built)
    }

    /// Refuses what the graft does not know or what is no libp2p. That takes a moment, whereas building
    /// takes minutes.
    pub fn check(subject: &Subject) -> Result<()> {
        let copy = tempfile::tempdir().context("cannot make a temporary folder")?;
        for source in crates::sources(subject, copy.path())? {
            graft(&source)?;
        }
        if let Libp2p::Checkout(checkout) = &subject.libp2p {
            let packages = crates::packages(&copy.path().join(UPSTREAM));
            packages
                .and_then(|packages| crates::versions(&packages))
                .with_context(|| checkout.spec().to_string())?;
        }
        Ok(())
    }

    /// Builds it, which takes minutes. Others that build wait.
    pub fn build(&self, subject: &Subject, id: &str) -> Result<Built> {
        let lock = fs::File::create(self.dir.join(".lock"))?;
        lock.lock()?;
        if let Some(built) = self.find(id) {
            return Ok(built); // By who built meanwhile.
        }
        self.remove_leftovers();
        let mut build = Build::new(self)?;
        build.lay_out(subject)?;
        build.graft_what_the_registry_has()?;
        build.compile()?;
        build.keep(id)
    }

    /// What interrupted builds left. If some of it stays, no harm is done.
    fn remove_leftovers(&self) {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with(STAGE) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    pub(super) fn build_dir(&self) -> PathBuf {
        self.dir.join("build")
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.build_dir().join("workspace")
    }
}

/// Without names, of which a commit has many.
fn content(source: SourceRecord) -> SourceRecord {
    match source {
        SourceRecord::Checkout {
            commit,
            difference,
            tree_sha256,
            ..
        } => SourceRecord::Checkout {
            path: String::new(),
            revision: None,
            commit,
            difference,
            tree_sha256,
        },
        other => other,
    }
}

pub(super) fn sha256(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(format!("{:x}", Sha256::digest(bytes)))
}
