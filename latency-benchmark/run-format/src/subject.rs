//! Variants and subjects, which are compared, and how the node program of a subject was built.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::plausible::{MeasuredSpan, PlausibleValue, UNIX_S, WHAT_THE_TYPE_ALLOWS, plausible};
use crate::{Budgets, RuntimeConfig, Site};

/// The role of a variant or a subject in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The others are compared with it.
    Baseline,
    /// A second copy of the baseline: the A/A control. A difference between the two is noise.
    Control,
    /// It is compared with the baseline.
    Candidate,
}

/// A set of budgets under comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantConfig {
    /// The budgets' text, with a mark for the A/A control.
    pub label: String,
    pub role: Role,
    pub budgets: Budgets,
}

impl VariantConfig {
    /// A variant for each of the budgets. The first is the baseline. `has_control` adds a second copy of it.
    pub fn from_budgets(budgets: Vec<Budgets>, has_control: bool) -> Vec<VariantConfig> {
        let variant = |budgets: Budgets| VariantConfig {
            label: budgets.to_string(),
            role: Role::Candidate,
            budgets,
        };
        let mut variants: Vec<VariantConfig> = budgets.into_iter().map(variant).collect();
        variants[0].role = Role::Baseline;
        if has_control {
            let mut control = variants[0].clone();
            control.label += " (A/A)";
            control.role = Role::Control;
            variants.insert(1, control);
        }
        variants
    }
}

/// The most characters of a label. The labels of a subject and of a variant are parts of one file name.
pub const LONGEST_LABEL: usize = 90;

/// The variant that the others are compared with.
pub const BASELINE: usize = 0;

/// A version of the network stack that a node program is built against. Its launches are compared with those of the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectConfig {
    pub label: String,
    pub role: Role,
    /// The sources as `--subject` and the options beside it ask for them.
    pub spec: String,
    /// The source of the stack. The field has this name for h2 and iroh, too.
    pub libp2p: SourceRecord,
    /// The sources of crates that are replaced below the stack, such as yamux and tokio, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub layers: BTreeMap<String, SourceRecord>,
    /// Null if the program is this workspace's own.
    pub build: Option<BuildRecord>,
    /// The runtime of `--runtime-setting`. Absent if it is that of the sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeConfig>,
    /// The index of the subject whose program the peers run.
    pub peers: usize,
    /// The number of layouts: how often the program was linked with its functions at other addresses. A launch runs one of
    /// them. 0 if there is only the program that cargo links.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub layouts: u32,
}

plausible! { SubjectConfig;
    label role spec libp2p layers build runtime peers layouts: WHAT_THE_TYPE_ALLOWS;
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl SubjectConfig {
    /// Names the sources, such as `1a2b3c4d5e "Fix the loop"; yamux of release 0.13.5`.
    pub fn sources(&self) -> String {
        let layers = self.layers.iter();
        let layers = layers.map(|(name, source)| match source {
            // A crate of the release is a layer only if a diff changes it.
            SourceRecord::Released => format!("; {name} changed by a diff"),
            _ => format!("; {name} of {source}"),
        });
        format!("{}{}", self.libp2p, layers.collect::<String>())
    }
}

/// The end of the label of a patched subject whose peers run the first subject. It tells that one from the subject with both
/// ends patched.
pub const CENTRAL_ALONE: &str = ", central alone";

/// The origin of a subject's sources. Null means unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SourceRecord {
    Released,
    Release {
        version: String,
    },
    Checkout {
        path: String,
        revision: Option<String>,
        commit: Option<Commit>,
        difference: Option<Difference>,
        tree_sha256: Option<String>,
    },
}

impl PlausibleValue for SourceRecord {
    fn check_in(
        &self,
        column: &str,
        range: &RangeInclusive<f64>,
        span: &MeasuredSpan,
    ) -> anyhow::Result<()> {
        match self {
            SourceRecord::Released | SourceRecord::Release { .. } => Ok(()),
            SourceRecord::Checkout {
                commit, difference, ..
            } => {
                commit.check_in(column, range, span)?;
                difference.check_in(column, range, span)
            }
        }
    }
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    pub id: String,
    pub subject_line: String,
    pub committed_unix_s: u64,
}

plausible! { Commit;
    id subject_line: WHAT_THE_TYPE_ALLOWS;
    committed_unix_s: UNIX_S;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    pub files: usize,
    pub sha256: String,
}

plausible! { Difference;
    files sha256: WHAT_THE_TYPE_ALLOWS;
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    pub id: String,
    pub profile: String,
    pub rustc: String,
    pub features: Vec<String>,
    pub crates: Vec<CrateRecord>,
    pub levels: Vec<LevelRecord>,
    pub patches: Vec<PatchRecord>,
    pub edits_sha256: String,
    pub lock_sha256: String,
    pub program_sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchRecord {
    pub patch: String,
    pub sha256: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelRecord {
    pub site: Site,
    pub level: SiteLevel,
    /// The reason why the level is missing. None if it is there.
    pub not_there: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SiteLevel {
    /// Durations and outcomes of its polls.
    Outer,
    /// Iterations and children.
    Inner,
    /// Its budgets have an effect.
    Budget,
    /// Counts of its connections, streams or sockets.
    Counts,
    /// Its remedies are there.
    Remedies,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrateRecord {
    pub name: String,
    pub version: String,
    pub from: CrateOrigin,
    pub grafted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrateOrigin {
    Registry,
    Subject,
    Layer,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_crate_that_a_diff_changes_is_said_to_be_changed() {
        let subject: SubjectConfig = from_value(json!({
            "label": "a", "role": "candidate", "spec": "released+a.diff", "libp2p": {"kind": "released"}, "build": null, "peers": 0,
            "layers": {"yamux": {"kind": "released"}, "tokio": {"kind": "release", "version": "1.48.0"}},
        }))
        .expect("a subject");
        let sources = subject.sources();
        assert!(sources.contains("; yamux changed by a diff"), "{sources}");
        assert!(sources.contains("; tokio of release 1.48.0"), "{sources}");
    }
}
