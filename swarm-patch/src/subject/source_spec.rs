//! Parses the names of sources: where a stack or a crate comes from, and which patches it gets.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use run_format::{BUDGET_FORMS, Budgets, Ends, Remedy, Site};

/// The accepted forms of a subject, for help texts and errors.
pub const SUBJECT_FORMS: &str = "released; released@VERSION for libp2p, such as released@0.56; PATH, a checkout of the stack or of its main crate; \
     PATH@REV, a branch, tag or commit of that checkout; and after any of these: +FILE, a diff; +BUDGET for libp2p, the budget's patch; \
     +CRATE=SOURCE, another source of a crate that the stack depends on; +CRATE=SOURCE+FILE, with a diff of that crate; names with + are not accepted";

/// The accepted sources of one crate.
pub const SOURCE_FORMS: &str = "released@VERSION, PATH or PATH@REV, and then +FILE for a diff if wanted; or released+FILE for a diff of the lock file's version";

/// A source as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSpec {
    /// Where the source comes from.
    pub origin: Origin,
    /// Files with diffs for `git apply`. They are applied to a copy, one after the other.
    pub diffs: Vec<PathBuf>,
}

/// Where the files of a source come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The release of this version or, without a version, the release in our lock file.
    Registry(Option<String>),
    /// A folder, and a branch, tag or commit. Without these, the files as they are in the folder.
    Checkout(PathBuf, Option<String>),
}

/// The part of a name that follows a `+`.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Diff(PathBuf),
    Budget(Budgets),
    Layer(String, Origin),
}

impl SourceSpec {
    pub(super) fn without_diffs(origin: Origin) -> SourceSpec {
        let diffs = Vec::new();
        SourceSpec { origin, diffs }
    }

    /// The last folder of a path, with the revision and the diffs. `released` names what comes from the registry.
    pub(super) fn label(&self, released: &str) -> String {
        let last = |path: &Path| {
            let name = path.file_name().unwrap_or(path.as_os_str());
            name.to_string_lossy().into_owned()
        };
        let name = match &self.origin {
            Origin::Registry(None) => released.to_owned(),
            Origin::Registry(Some(version)) => format!("{released}@{version}"),
            Origin::Checkout(path, revision) => {
                let name = last(&path.canonicalize().unwrap_or_else(|_| path.clone()));
                match revision {
                    Some(revision) => format!("{name}@{revision}"),
                    None => name,
                }
            }
        };
        let diffs = self.diffs.iter().map(|diff| format!("+{}", last(diff)));
        std::iter::once(name).chain(diffs).collect()
    }
}

impl FromStr for SourceSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (origin, parts) = parse(text)?;
        let mut source = SourceSpec::without_diffs(origin);
        for part in parts {
            match part {
                Part::Diff(diff) => source.diffs.push(diff),
                Part::Budget(_) | Part::Layer(..) => {
                    return Err(format!(
                        "only the whole subject has budgets and crates (accepted: {SOURCE_FORMS})"
                    ));
                }
            }
        }
        Ok(source)
    }
}

/// Splits a name into the origin of the sources and the parts after it.
pub(super) fn parse(text: &str) -> Result<(Origin, Vec<Part>), String> {
    let (name, rest) = text.split_once('+').unzip();
    let origin = read_origin(name.unwrap_or(text))?;
    let parts: Result<_, _> = rest
        .into_iter()
        .flat_map(|rest| rest.split('+'))
        .map(part)
        .collect();
    Ok((origin, parts?))
}

/// A folder may have an `@` in its name. The revision follows the first `@` that has the name of a folder before it.
fn read_origin(text: &str) -> Result<Origin, String> {
    if text == "released" {
        return Ok(Origin::Registry(None));
    }
    if let Some(version) = text.strip_prefix("released@") {
        return match is_version(version) {
            true => Ok(Origin::Registry(Some(version.to_owned()))),
            false => Err(format!(
                "{version:?} is not a release (accepted: a version such as released@0.56)"
            )),
        };
    }
    if Path::new(text).is_dir() {
        return Ok(Origin::Checkout(text.into(), None));
    }
    let mut splits = text
        .match_indices('@')
        .map(|(at, _)| (&text[..at], &text[at + 1..]));
    match splits.find(|(name, _)| Path::new(name).is_dir()) {
        Some((_, "")) => Err("there is no revision after the @ (accepted: PATH@REV)".to_owned()),
        Some((name, revision)) => Ok(Origin::Checkout(name.into(), Some(revision.to_owned()))),
        None => Err(format!(
            "there is no such folder (accepted: {SUBJECT_FORMS})"
        )),
    }
}

fn part(text: &str) -> Result<Part, String> {
    if Path::new(text).is_file() {
        return Ok(Part::Diff(text.into()));
    }
    let Some((name, source)) = text.split_once('=') else {
        return Err(format!(
            "{text:?} after the + is neither a file nor a budget (accepted: {SUBJECT_FORMS})"
        ));
    };
    let may_be_in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_crate = !name.is_empty() && name.bytes().all(may_be_in_name);
    if !is_crate || name.parse::<Site>().is_ok() || name.parse::<Remedy>().is_ok() {
        return budget(text).map(Part::Budget);
    }
    let layer = read_origin(source).map(|origin| Part::Layer(name.to_owned(), origin));
    layer.map_err(|wrong| format!("+{text}: {wrong}"))
}

fn budget(text: &str) -> Result<Budgets, String> {
    match text.parse::<Budgets>() {
        Ok(budgets) if budgets.ends == Ends::Both => Err(format!(
            "{text:?} after the +: a patch changes one program; choose the peers' program with --peers-subject (accepted: the same budget without @both)"
        )),
        Ok(budgets) if !budgets.is_none() => Ok(budgets),
        _ => Err(format!(
            "{text:?} after the + is no budget that bounds something (accepted: {BUDGET_FORMS})"
        )),
    }
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_number =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (2..=3).contains(&parts.len()) && parts.iter().all(is_number)
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Registry(None) => f.write_str("released")?,
            Origin::Registry(Some(version)) => write!(f, "released@{version}")?,
            Origin::Checkout(path, None) => write!(f, "{}", path.display())?,
            Origin::Checkout(path, Some(revision)) => write!(f, "{}@{revision}", path.display())?,
        }
        let mut diffs = self.diffs.iter();
        diffs.try_for_each(|diff| write!(f, "+{}", diff.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(text: &str) -> (String, Option<String>) {
        match text.parse().map(|spec: SourceSpec| spec.origin) {
            Ok(Origin::Checkout(path, revision)) => (path.display().to_string(), revision),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn complaint(text: &str) -> String {
        text.parse::<SourceSpec>().expect_err(text).to_string()
    }

    #[test]
    fn releases_are_named_by_version() {
        let origin = |text: &str| text.parse().map(|spec: SourceSpec| spec.origin);
        assert_eq!(origin("released"), Ok(Origin::Registry(None)));
        let release = Origin::Registry(Some("0.56".to_owned()));
        assert_eq!(origin("released@0.56"), Ok(release));
        for wrong in [
            "released@",
            "released@latest",
            "released@0",
            "released@0.5x",
        ] {
            assert!(complaint(wrong).contains("is not a release"), "{wrong}");
        }
    }

    #[test]
    fn the_folder_that_is_there_decides_where_the_path_ends() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let root = dir.path().display().to_string();
        std::fs::create_dir_all(dir.path().join("a b@c")).expect("the folder is ours");
        let plain = |revision: &str| folder(&format!("{root}@{revision}"));
        assert_eq!(plain("master"), (root.clone(), Some("master".to_owned())));
        assert_eq!(plain("a/b").1.as_deref(), Some("a/b"));
        assert_eq!(plain("master@{1}").1.as_deref(), Some("master@{1}"));
        let odd = format!("{root}/a b@c");
        assert_eq!(folder(&odd), (odd.clone(), None));
        assert_eq!(folder(&format!("{odd}@v1")), (odd, Some("v1".to_owned())));
    }

    #[test]
    fn what_names_nothing_is_refused_with_the_accepted_forms() {
        for wrong in [
            "",
            "relesed",
            "/nowhere/at/all",
            "/nowhere@master",
            "/c++/x",
        ] {
            assert!(complaint(wrong).contains(SUBJECT_FORMS), "{wrong}");
        }
        assert!(complaint("/tmp@").contains("no revision after the @"));
    }
}
