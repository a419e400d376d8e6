//! Unified diffs.

use similar::TextDiff;

use crate::crate_dir::CrateDir;
use crate::graft::GraftedFile;

/// The folder in which a diff applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffRoot {
    /// The folder in which cargo unpacks crates, each to a folder NAME-VERSION.
    Registry,
    /// The root of upstream's repository.
    Repository,
}

impl DiffRoot {
    /// The folders before the paths of a crate.
    pub fn prefix(self, source: &CrateDir) -> String {
        match self {
            DiffRoot::Registry => format!("{}-{}/", source.name, source.version),
            DiffRoot::Repository => format!("{}/", source.name.trim_start_matches("libp2p-")),
        }
    }
}

/// The changes to one crate, with `prefix` before each path.
pub fn crate_diff(prefix: &str, files: &[GraftedFile]) -> String {
    let diff = |file: &GraftedFile| {
        let path = match file.path.strip_prefix("../") {
            // The crate's folder is the last one of the prefix. If the prefix is empty, the file is out of reach.
            Some(above) => {
                let folders = prefix.strip_suffix('/')?.rsplit_once('/');
                folders.map_or(above.to_owned(), |(folders, _)| {
                    format!("{folders}/{above}")
                })
            }
            None => format!("{prefix}{}", file.path),
        };
        Some(file_diff(&path, &file.original, &file.grafted()))
    };
    files.iter().filter_map(diff).collect()
}

/// The change to one file. A file that was empty before is a new one.
pub fn file_diff(path: &str, before: &str, after: &str) -> String {
    let old = match before {
        "" => "/dev/null".to_owned(),
        _ => format!("a/{path}"),
    };
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(&old, &format!("b/{path}"))
        .to_string()
}
