//! What the programs of a sweep were built against, where it compares several.

use serde::Deserialize;

use super::variant::Role;

/// A subject. Only the fields that are used.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Subject {
    pub(crate) label: String,
    pub(crate) role: Role,
    pub(crate) libp2p: Source,
    pub(crate) yamux: Option<Source>,
}

/// Where sources come from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Source {
    Released,
    Release {
        version: String,
    },
    Checkout {
        revision: Option<String>,
        commit: Option<Commit>,
        difference: Option<Difference>,
        tree_sha256: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Commit {
    pub(crate) id: String,
    pub(crate) subject_line: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Difference {
    pub(crate) files: usize,
    pub(crate) sha256: String,
}

impl Subject {
    /// "`my-fix`: libp2p of 1a2b3c4d5e "Fix the loop", with 2 uncommitted files".
    pub(crate) fn words(&self) -> String {
        let yamux = self.yamux.as_ref();
        let yamux = yamux.map_or_else(String::new, |yamux| format!("; yamux of {}", yamux.words()));
        format!("`{}`: libp2p of {}{yamux}", self.label, self.libp2p.words())
    }
}

impl Source {
    fn words(&self) -> String {
        match self {
            Source::Released => "the release of the lock file".to_owned(),
            Source::Release { version } => format!("release {version}"),
            Source::Checkout {
                revision,
                commit,
                difference,
                tree_sha256,
            } => {
                // A commit that was asked for by its hash is named once.
                let is_hash = |it: &&str| commit.as_ref().is_some_and(|of| of.id.starts_with(*it));
                let revision = revision.as_deref().filter(|it| !is_hash(it));
                let revision = revision.map_or_else(String::new, |it| format!("{it}, "));
                let what = match (commit, tree_sha256) {
                    (Some(commit), _) => format!("{} “{}”", short(&commit.id), commit.subject_line),
                    (None, Some(sha256)) => format!("a folder with the hash {}", short(sha256)),
                    (None, None) => "a checkout without a commit".to_owned(),
                };
                let changed = difference.as_ref().map_or_else(String::new, |it| {
                    format!(
                        ", with {} files not committed ({})",
                        it.files,
                        short(&it.sha256)
                    )
                });
                format!("{revision}{what}{changed}")
            }
        }
    }
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
