//! Parses the arguments of `--subject` and `--yamux`.

use std::{fmt, path::PathBuf, str::FromStr};

/// The accepted forms of a subject, for help texts and errors.
pub const SUBJECT_FORMS: &str = "released, released@0.56, PATH or PATH@REV";

/// A subject as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// The release in our lock file.
    Released,
    /// Another release from the registry, by its minor version.
    Release(String),
    /// A checkout.
    Checkout(CheckoutSpec),
}

/// A checkout as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckoutSpec {
    /// The folder, which exists.
    pub path: PathBuf,
    /// A branch, tag or commit; absent for the files as they are in the folder.
    pub revision: Option<String>,
    text: String,
}

/// The text names no subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SubjectSpecError(String);

impl Spec {
    /// A short name: the last folder of a path, with the revision.
    pub fn label(&self) -> String {
        match self {
            Spec::Checkout(checkout) => checkout.label(),
            other => other.to_string(),
        }
    }
}

impl CheckoutSpec {
    /// The last folder of the path, with the revision.
    pub fn label(&self) -> String {
        let whole = self
            .path
            .canonicalize()
            .unwrap_or_else(|_| self.path.clone());
        let name = whole.file_name().map_or_else(
            || self.text.clone(),
            |name| name.to_string_lossy().into_owned(),
        );
        match &self.revision {
            Some(revision) => format!("{name}@{revision}"),
            None => name,
        }
    }
}

impl FromStr for Spec {
    type Err = SubjectSpecError;

    fn from_str(text: &str) -> Result<Self, SubjectSpecError> {
        if text == "released" {
            return Ok(Spec::Released);
        }
        match text.strip_prefix("released@") {
            Some(version) if is_version(version) => Ok(Spec::Release(version.to_owned())),
            Some(version) => Err(SubjectSpecError(format!(
                "{version:?} is not a release of libp2p (accepted: a version such as released@0.56)"
            ))),
            None => text.parse().map(Spec::Checkout),
        }
    }
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_number =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (2..=3).contains(&parts.len()) && parts.iter().all(is_number)
}

impl FromStr for CheckoutSpec {
    type Err = SubjectSpecError;

    /// Both a folder and a revision may have an `@` in their names. If the whole text is a folder, there
    /// is no revision. Otherwise the shortest existing folder is the path.
    fn from_str(text: &str) -> Result<Self, SubjectSpecError> {
        let spec = |path: &str, revision: Option<&str>| CheckoutSpec {
            path: PathBuf::from(path),
            revision: revision.map(str::to_owned),
            text: text.to_owned(),
        };
        let whole = spec(text, None);
        if whole.path.is_dir() {
            return Ok(whole);
        }
        let splits = text
            .match_indices('@')
            .map(|(at, _)| (&text[..at], &text[at + 1..]));
        match splits
            .map(|(path, revision)| spec(path, Some(revision)))
            .find(|spec| spec.path.is_dir())
        {
            Some(spec) if spec.revision.as_deref() == Some("") => Err(SubjectSpecError(
                "there is no revision after the @ (accepted: PATH@REV)".to_owned(),
            )),
            Some(spec) => Ok(spec),
            None => Err(SubjectSpecError(format!(
                "there is no such folder (accepted: {SUBJECT_FORMS})"
            ))),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spec::Released => f.write_str("released"),
            Spec::Release(version) => write!(f, "released@{version}"),
            Spec::Checkout(checkout) => checkout.fmt(f),
        }
    }
}

impl fmt::Display for CheckoutSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkout(text: &str) -> (String, Option<String>) {
        match text.parse() {
            Ok(Spec::Checkout(spec)) => (spec.path.display().to_string(), spec.revision),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn complaint(text: &str) -> String {
        text.parse::<Spec>().expect_err(text).to_string()
    }

    #[test]
    fn releases_are_named_by_version() {
        assert_eq!("released".parse(), Ok(Spec::Released));
        assert_eq!(
            "released@0.56".parse(),
            Ok(Spec::Release("0.56".to_owned()))
        );
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
        let plain = |revision: &str| checkout(&format!("{root}@{revision}"));
        assert_eq!(plain("master"), (root.clone(), Some("master".to_owned())));
        assert_eq!(plain("a/b").1.as_deref(), Some("a/b"));
        assert_eq!(plain("master@{1}").1.as_deref(), Some("master@{1}"));
        let odd = format!("{root}/a b@c");
        assert_eq!(checkout(&odd), (odd.clone(), None));
        assert_eq!(checkout(&format!("{odd}@v1")), (odd, Some("v1".to_owned())));
    }

    #[test]
    fn what_names_nothing_is_refused_with_the_accepted_forms() {
        for wrong in ["", "relesed", "/nowhere/at/all", "/nowhere@master"] {
            assert!(complaint(wrong).contains(SUBJECT_FORMS), "{wrong}");
        }
        assert!(complaint("/tmp@").contains("no revision after the @"));
    }
}
