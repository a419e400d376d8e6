//! What a subject is, and how its node program was built.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Site, runtime::RuntimeConfig, variant::Role};

/// A version of the network stack that a node program is built against. Its launches are compared with those of the
/// others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectConfig {
    /// A short name, with a mark for the A/A control.
    pub label: String,
    pub role: Role,
    /// As it was asked for.
    pub spec: String,
    /// The same for yamux; null for the one that libp2p asks for.
    pub yamux_spec: Option<String>,
    /// Of the stack, even if that is not libp2p.
    pub libp2p: SourceRecord,
    pub yamux: Option<SourceRecord>,
    /// Null if it is the node program of this workspace.
    pub build: Option<BuildRecord>,
    /// Central's runtime, if it is not that of the sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeConfig>,
    /// Index of the subject whose program the peers run. Older sweeps have none: it was the first.
    #[serde(default)]
    pub peers: usize,
}

/// The end of the label of a patched subject whose peers run the first subject, if there is one with both ends patched, too.
pub const CENTRAL_ALONE: &str = ", central alone";

/// Where the sources of a subject come from. Null is what is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SourceRecord {
    /// What our lock file names.
    Released,
    /// A release from the registry.
    Release {
        /// As it was asked for.
        version: String,
    },
    /// A checkout.
    Checkout {
        /// Where it lies.
        path: String,
        /// As it was asked for; null for the folder as it lay there.
        revision: Option<String>,
        /// Null without git, or before the first commit.
        commit: Option<Commit>,
        /// What differs from the commit; null if nothing.
        difference: Option<Difference>,
        /// Of names and contents, where git knows nothing of the folder.
        tree_sha256: Option<String>,
    },
}

impl fmt::Display for SourceRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (commit, difference, tree) = match self {
            SourceRecord::Released => return f.write_str("the release of the lock file"),
            SourceRecord::Release { version } => return write!(f, "release {version}"),
            SourceRecord::Checkout {
                commit,
                difference,
                tree_sha256,
                ..
            } => (commit, difference, tree_sha256),
        };
        match (commit, tree) {
            (Some(commit), _) => write!(f, "{} {:?}", short(&commit.id), commit.subject_line)?,
            (None, Some(sha256)) => write!(f, "folder {}", short(sha256))?,
            (None, None) => f.write_str("no commit")?,
        }
        let Some(Difference { files, sha256 }) = difference else {
            return Ok(());
        };
        write!(f, ", {files} files changed ({})", short(sha256))
    }
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    pub id: String,
    pub subject_line: String,
    pub committed_unix_s: u64,
}

/// Uncommitted changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// How many files are changed, new or gone.
    pub files: usize,
    /// Of their names and contents.
    pub sha256: String,
}

/// A subject that was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// Names its folder below `target/subjects`: a hash of all that it is made of.
    pub id: String,
    pub profile: String,
    pub rustc: String,
    /// Of the crate that the stack is called by.
    pub features: Vec<String>,
    /// The crates that do not come from the registry as they are, and those with a site.
    pub crates: Vec<CrateRecord>,
    pub levels: Vec<LevelRecord>,
    /// The changes to its sources before the graft; results before that had none.
    #[serde(default)]
    pub patches: Vec<PatchRecord>,
    /// Of `edits.diff`.
    pub edits_sha256: String,
    /// Of `Cargo.lock`.
    pub lock_sha256: String,
    /// Of the program.
    pub program_sha256: String,
}

/// A change to the sources of a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchRecord {
    /// A budget, or the path of a diff.
    pub patch: String,
    /// Of the diff; null for a budget, whose change depends on our sources only.
    pub sha256: Option<String>,
}

/// Whether a level of a site is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelRecord {
    pub site: Site,
    pub level: SiteLevel,
    /// Why it is not recorded; null if it is.
    pub not_there: Option<String>,
}

/// What can be recorded of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SiteLevel {
    /// Durations and outcomes of its polls.
    Outer,
    /// Iterations and children.
    Inner,
    /// What budgets do to it.
    Budget,
}

/// A crate of a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrateRecord {
    pub name: String,
    pub version: String,
    pub from: CrateOrigin,
    /// Whether lines were inserted.
    pub grafted: bool,
}

/// Where a crate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrateOrigin {
    /// The registry.
    Registry,
    /// The checkout of `--subject`.
    Subject,
    /// The checkout of `--yamux`.
    Yamux,
}
