//! Parses the arguments of `--subject` and `--yamux`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use run_format::{BUDGET_FORMS, Budgets};

/// The accepted forms of a subject, for help texts and errors.
pub const SUBJECT_FORMS: &str = "released, released@0.56 (libp2p only), PATH or PATH@REV; then +BUDGET for the budget's patch (libp2p only), or after a PATH +FILE for a diff";

/// A subject as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// The release in our lock file, and the budget whose patch it gets.
    Released(Option<Budgets>),
    /// Another release from the registry, by its minor version, and the same.
    Release(String, Option<Budgets>),
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
    /// A change to the copy.
    pub patch: Option<PatchSpec>,
    text: String,
}

/// A change to the sources of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchSpec {
    /// The patch of a budget.
    Budget(Budgets),
    /// A diff for `git apply`, which exists.
    File(PathBuf),
}

impl Spec {
    /// A short name: the last folder of a path, with the revision.
    pub fn label(&self) -> String {
        match self {
            Spec::Checkout(checkout) => checkout.label(),
            other => other.to_string(),
        }
    }

    /// Whether its sources are changed by a budget's patch or by a diff.
    pub fn is_patched(&self) -> bool {
        match self {
            Spec::Released(patch) | Spec::Release(_, patch) => patch.is_some(),
            Spec::Checkout(checkout) => checkout.patch.is_some(),
        }
    }
}

impl CheckoutSpec {
    /// The last folder of the path, with the revision and the patch.
    pub fn label(&self) -> String {
        let whole = self
            .path
            .canonicalize()
            .unwrap_or_else(|_| self.path.clone());
        let name = whole.file_name().map_or_else(
            || self.text.clone(),
            |name| name.to_string_lossy().into_owned(),
        );
        let revision = self.revision.iter().map(|revision| format!("@{revision}"));
        let patch = self.patch.iter().map(|patch| match patch {
            PatchSpec::Budget(budgets) => format!("+{budgets}"),
            PatchSpec::File(file) => {
                format!(
                    "+{}",
                    file.file_name().unwrap_or_default().to_string_lossy()
                )
            }
        });
        std::iter::once(name).chain(revision).chain(patch).collect()
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, patch) = match text.split_once('+') {
            Some((name, patch)) if name == "released" || name.starts_with("released@") => {
                (name, Some(budget(patch)?))
            }
            _ => (text, None),
        };
        if name == "released" {
            return Ok(Spec::Released(patch));
        }
        match name.strip_prefix("released@") {
            Some(version) if is_version(version) => Ok(Spec::Release(version.to_owned(), patch)),
            Some(version) => Err(format!(
                "{version:?} is not a release of libp2p (accepted: a version such as released@0.56)"
            )),
            None => text.parse().map(Spec::Checkout),
        }
    }
}

fn budget(text: &str) -> Result<Budgets, String> {
    match text.parse() {
        Ok(budgets) if budgets != Budgets::NONE => Ok(budgets),
        _ => Err(format!(
            "{text:?} after the + is no budget that bounds something (accepted: {BUDGET_FORMS})"
        )),
    }
}

/// Splits off a patch. Revisions and files may have a `+` in their names.
fn split_patch(text: &str) -> Result<(&str, Option<PatchSpec>), String> {
    for (at, _) in text.match_indices('+') {
        let name = &text[at + 1..];
        if Path::new(name).is_file() {
            return Ok((&text[..at], Some(PatchSpec::File(name.into()))));
        }
        if let Ok(budgets) = budget(name) {
            return Ok((&text[..at], Some(PatchSpec::Budget(budgets))));
        }
    }
    match text.rsplit_once('+') {
        Some((_, name)) if name.contains('=') => budget(name).map(|_| (text, None)),
        Some((rest, name))
            if rest.is_empty() || name.ends_with(".diff") || name.ends_with(".patch") =>
        {
            Err(format!(
                "{name:?} after the + is neither a file nor a budget (accepted: {SUBJECT_FORMS})"
            ))
        }
        _ => Ok((text, None)),
    }
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_number =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (2..=3).contains(&parts.len()) && parts.iter().all(is_number)
}

impl FromStr for CheckoutSpec {
    type Err = String;

    /// A folder, a revision and a file may have `@` and `+` in their names. If the whole text is a folder, there
    /// is nothing else. Otherwise the shortest existing folder is the path whose rest can be meant.
    fn from_str(text: &str) -> Result<Self, String> {
        let spec = |path: &str, revision: Option<&str>, patch| CheckoutSpec {
            path: PathBuf::from(path),
            revision: revision.map(str::to_owned),
            patch,
            text: text.to_owned(),
        };
        if Path::new(text).is_dir() {
            return Ok(spec(text, None, None));
        }
        let mut refusal = None;
        let splits = text.match_indices(['@', '+']);
        for (path, rest) in splits.map(|(at, _)| text.split_at(at)) {
            if !Path::new(path).is_dir() {
                continue;
            }
            let parts = match rest.strip_prefix('@') {
                Some(rest) => split_patch(rest).map(|(revision, patch)| (Some(revision), patch)),
                None => split_patch(rest)
                    .map(|(before, patch)| (None, patch.filter(|_| before.is_empty()))),
            };
            match parts {
                Ok((Some(""), _)) => {
                    let problem = "there is no revision after the @ (accepted: PATH@REV)";
                    return Err(problem.to_owned());
                }
                // What follows a `+` that begins no patch.
                Ok((None, None)) => {}
                Ok((revision, patch)) => return Ok(spec(path, revision, patch)),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        Err(refusal
            .unwrap_or_else(|| format!("there is no such folder (accepted: {SUBJECT_FORMS})")))
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, budgets) = match self {
            Spec::Released(budgets) => ("released".to_owned(), budgets),
            Spec::Release(version, budgets) => (format!("released@{version}"), budgets),
            Spec::Checkout(checkout) => return checkout.fmt(f),
        };
        match budgets {
            Some(budgets) => write!(f, "{name}+{budgets}"),
            None => f.write_str(&name),
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
        assert_eq!("released".parse(), Ok(Spec::Released(None)));
        assert_eq!(
            "released@0.56".parse(),
            Ok(Spec::Release("0.56".to_owned(), None))
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
    fn a_patch_is_a_budget_or_a_file_that_is_there() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let root = dir.path().join("a").display().to_string();
        let diff = format!("{root}+x@y.diff");
        std::fs::create_dir(&root).expect("the folder is ours");
        std::fs::create_dir(format!("{root}+b")).expect("the folder is ours");
        std::fs::write(&diff, "").expect("the folder is ours");
        let parts = |text: String| match text.parse() {
            Ok(Spec::Checkout(spec)) => (spec.revision.clone(), spec.patch.clone(), spec.label()),
            other => panic!("{text}: {other:?}"),
        };
        let revision = |name: &str| Some(name.to_owned());
        let file = Some(PatchSpec::File(diff.clone().into()));
        let bound = "connection=2,muxer=1/deferred";
        let budget = Some(PatchSpec::Budget(bound.parse().expect("a budget")));
        assert_eq!(
            parts(format!("{root}@r+s+{diff}")),
            (revision("r+s"), file, "a@r+s+a+x@y.diff".to_owned())
        );
        assert_eq!(
            parts(format!("{root}+b+{bound}")),
            (None, budget.clone(), format!("a+b+{bound}"))
        );
        assert_eq!(
            parts(format!("{root}@r+{bound}")),
            (revision("r"), budget, format!("a@r+{bound}"))
        );
        assert_eq!(
            parts(format!("{root}@r+s")),
            (revision("r+s"), None, "a@r+s".to_owned())
        );
        for text in [
            format!("released+{bound}"),
            format!("released@0.56+{bound}"),
        ] {
            let spec: Spec = text.parse().expect("a release");
            assert_eq!((spec.to_string(), spec.label()), (text.clone(), text));
        }
        for (wrong, part) in [
            ("released+".to_owned(), "no budget that bounds something"),
            (
                "released+none".to_owned(),
                "no budget that bounds something",
            ),
            (
                format!("{root}@r+muxr=1"),
                "\"muxr=1\" after the + is no budget",
            ),
            (
                format!("{root}@r+gone.diff"),
                "\"gone.diff\" after the + is neither a file",
            ),
            (
                format!("{root}+gone"),
                "\"gone\" after the + is neither a file",
            ),
        ] {
            let complaint = complaint(&wrong);
            assert!(complaint.contains(part), "{wrong}: {complaint}");
        }
    }

    #[test]
    fn what_names_nothing_is_refused_with_the_accepted_forms() {
        for wrong in ["", "relesed", "/nowhere/at/all", "/nowhere@master"] {
            assert!(complaint(wrong).contains(SUBJECT_FORMS), "{wrong}");
        }
        assert!(complaint("/tmp@").contains("no revision after the @"));
    }
}
