//! Names the programs that are built against subjects, and finds those that were kept. `README.md` lists the folders.
//!
//! All subjects are built in the same folders, one after the other. Only files that differ are written, so
//! cargo compiles only the crates that differ and those that depend on them. The compiler sees the same paths for
//! all subjects, so equal code gets an equal layout.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use fs_err as fs;
use run_format::checksums::sha256_of_program;
use run_format::{BuildRecord, LevelRecord, SourceRecord};
use sha2::{Digest, Sha256};

use super::crates::{self, Subject, UPSTREAM};
use super::ours::Ours;
use super::{compiler, source};
use crate::graft::graft;
use crate::sites::SiteLevels;
use crate::stacks::Stack;

/// The file with all edits of sources, in the folder of a subject.
pub use run_format::files::EDITS;
/// The file with the versions of all crates of the build, in the same folder.
pub const LOCK: &str = "Cargo.lock";
/// The file with the [`BuildRecord`], in the same folder. It is written last.
pub(super) const RECORD: &str = "subject.json";
/// The names of the folders in which subjects are prepared begin with this.
pub(super) const STAGE: &str = "stage-";

/// How programs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The compiler optimises, for measurements.
    Release,
    /// The compiler does not optimise, for tests.
    Debug,
}

/// One of the stack's programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// This program is measured.
    Measuring,
    /// This program has the same code with an allocator that counts, and with debug information. It is apart because debug
    /// information takes a sixth of the time of a build.
    Explaining,
    /// This program counts for `--gate`. Nothing in it depends on chance or time.
    Gate,
}

impl Program {
    /// The name of the program, and the cargo profile with which it is built to be measured.
    pub fn name_and_profile(self, stack: &Stack) -> (String, &'static str) {
        let (suffix, profile) = match self {
            Program::Measuring => ("", "release"),
            Program::Explaining => ("-counting", "explain"),
            Program::Gate => ("-gate", "release"),
        };
        (stack.program() + suffix, profile)
    }

    /// The feature of the package that the program needs.
    pub fn feature(self) -> Option<&'static str> {
        (self == Program::Explaining).then_some("symbols")
    }
}

/// Builds the benchmark against subjects, and keeps the programs.
pub struct SubjectBuilder {
    pub(super) dir: PathBuf,
    pub(super) ours: Ours,
    /// The stack whose node program is built.
    pub stack: &'static Stack,
    /// The hash of our sources when the builder was opened.
    pub(super) ours_sha256: String,
    pub(super) profile: Profile,
    pub(super) program: Program,
}

/// A node program that is built.
#[derive(Clone, Debug)]
pub struct Built {
    /// The folder of the build.
    pub dir: PathBuf,
    /// The node program.
    pub program: PathBuf,
    /// The record of what the program was built from.
    pub record: BuildRecord,
}

impl SubjectBuilder {
    /// A builder that works in the target folder of this workspace.
    pub fn open(stack: &'static Stack, profile: Profile) -> Result<SubjectBuilder> {
        let ours = Ours::read()?;
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(target) => target.into(),
            None => ours.root.join("target"),
        };
        let dir = target.join("subjects");
        fs::create_dir_all(&dir)?;
        Ok(SubjectBuilder {
            dir: fs::canonicalize(dir)?,
            ours_sha256: ours.digest(stack)?,
            ours,
            stack,
            profile,
            program: Program::Measuring,
        })
    }

    /// The same builder for another of the stack's programs.
    pub fn with_program(self, program: Program) -> SubjectBuilder {
        SubjectBuilder { program, ..self }
    }

    /// The name of the programs that it builds.
    pub(super) fn program_name(&self) -> String {
        self.program.name_and_profile(self.stack).0
    }

    /// The name of the profile's folder in the target folder.
    pub(super) fn profile_name(&self) -> &'static str {
        match self.profile {
            Profile::Debug => "debug",
            Profile::Release => self.program.name_and_profile(self.stack).1,
        }
    }

    /// The name of a subject: a hash of everything that its program is made of.
    pub fn id(&self, subject: &Subject) -> Result<String> {
        let layers = subject.layers.iter();
        let layers: Vec<_> = layers
            .map(|(name, source)| (name, content(&source.record), &source.diffs))
            .collect();
        let stack = content(&subject.source.record);
        let sources = (stack, layers, subject.patches(), subject.is_plain);
        let parts = [
            "4".to_owned(), // Increase this when programs are built differently from the same inputs.
            serde_json::to_string(&sources)?,
            self.ours_sha256.clone(),
            compiler::rustc(&self.ours.root)?,
            compiler::flags(),
            format!("{:?} {}", self.profile, self.program_name()),
            self.dir.display().to_string(),
        ];
        let digest = format!("{:x}", Sha256::digest(parts.join("\0")));
        Ok(digest[..16].to_owned())
    }

    /// The program of the subject with this name, if it was built and has not changed since.
    pub fn find(&self, id: &str) -> Option<Built> {
        let dir = self.dir.join(id);
        let text = fs::read_to_string(dir.join(RECORD)).ok()?;
        let built = Built {
            program: dir.join(self.program_name()),
            record: serde_json::from_str(&text).ok()?,
            dir,
        };
        let is_whole = sha256_of_program(&built.program).ok()? == built.record.program_sha256;
        is_whole.then_some(built)
    }

    /// Returns the levels of a subject's sites. Refuses a subject whose polls of connections cannot be recorded. This takes a
    /// moment, whereas a build takes minutes.
    pub fn check(&self, subject: &Subject) -> Result<Vec<LevelRecord>> {
        let mut levels = Vec::new();
        let copy = tempfile::tempdir().context("cannot make a temporary folder")?;
        for source in crates::sources(self.stack, subject, copy.path())? {
            levels.extend(graft(&source)?.sites.iter().flat_map(SiteLevels::records));
        }
        if subject.source.checkout.is_some() {
            source::packages_in(&copy.path().join(UPSTREAM))?;
        }
        Ok(levels)
    }

    /// How long the last build of this program took. The next build may take longer or shorter.
    pub fn last_time(&self) -> Option<Duration> {
        let seconds = fs::read_to_string(self.time_file()).ok()?;
        seconds.parse().ok().map(Duration::from_secs)
    }

    pub(super) fn time_file(&self) -> PathBuf {
        let name = format!("{}-{}.seconds", self.program_name(), self.profile_name());
        self.dir.join(name)
    }

    pub(super) fn build_dir(&self) -> PathBuf {
        self.dir.join("build")
    }

    pub(super) fn target(&self) -> PathBuf {
        self.build_dir().join("target")
    }
}

/// The source without its path and its revision, because many paths and revisions lead to one commit.
fn content(source: &SourceRecord) -> SourceRecord {
    let mut content = source.clone();
    if let SourceRecord::Checkout { path, revision, .. } = &mut content {
        path.clear();
        *revision = None;
    }
    content
}
