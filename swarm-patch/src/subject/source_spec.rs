//! Parses where a stack or a crate comes from: a release, or a checkout.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use run_format::{BUDGET_FORMS, Budgets, Ends};

/// The accepted forms of a subject, for help texts and errors.
pub const SUBJECT_FORMS: &str = "released, released@0.56 (libp2p only), PATH or PATH@REV (a checkout of the stack or of its main crate); then +FILE for a diff, or +BUDGET for the budget's patch (libp2p only); then +CRATE=SOURCE to replace a crate that it depends on";

/// The accepted sources of one crate.
pub const SOURCE_FORMS: &str = "released@VERSION, PATH or PATH@REV, and then +FILE for a diff if wanted; or released+FILE for a diff of the lock file's version";

/// A source as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSpec {
    pub origin: Origin,
    /// A change to a copy of it.
    pub patch: Option<PatchSpec>,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The release of that version, or the one in our lock file.
    Registry(Option<String>),
    /// A folder, which exists, and a branch, tag or commit; absent for the files as they are in the folder.
    Checkout(PathBuf, Option<String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchSpec {
    Budget(Budgets),
    /// A diff for `git apply`, which exists.
    File(PathBuf),
}

impl SourceSpec {
    /// The last folder of a path, with the revision and the patch. `released` names what comes from the registry.
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
                let revision = revision.iter().map(|revision| format!("@{revision}"));
                std::iter::once(name).chain(revision).collect()
            }
        };
        match &self.patch {
            None => name,
            Some(PatchSpec::Budget(budgets)) => format!("{name}+{budgets}"),
            Some(PatchSpec::File(file)) => format!("{name}+{}", last(file)),
        }
    }

    /// The budget whose patch it gets.
    pub fn budgets(&self) -> Option<Budgets> {
        match self.patch {
            Some(PatchSpec::Budget(budgets)) => Some(budgets),
            _ => None,
        }
    }
}

impl FromStr for SourceSpec {
    type Err = String;

    /// A folder, a revision and a file may have `@` and `+` in their names. If the whole text is a folder, there is nothing
    /// else. Otherwise the shortest existing folder is the path whose rest can be meant.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut refusal = None;
        let is_release = text.split(['@', '+']).next() == Some("released");
        let whole = Some(text.len()).filter(|_| !is_release && Path::new(text).is_dir());
        let splits = text.match_indices(['@', '+']).map(|(at, _)| at);
        for at in whole.into_iter().chain(splits).chain([text.len()]) {
            let (name, rest) = text.split_at(at);
            if name != "released" && !Path::new(name).is_dir() {
                continue;
            }
            match split_rest(name, rest) {
                Ok((origin, patch)) => {
                    let text = text.to_owned();
                    return Ok(SourceSpec {
                        origin,
                        patch,
                        text,
                    });
                }
                Err(wrong) => refusal = refusal.or(Some(wrong)),
            }
        }
        let no_folder = || format!("there is no such folder (accepted: {SUBJECT_FORMS})");
        Err(refusal.unwrap_or_else(no_folder))
    }
}

/// What follows `released` or the path of a folder: a version or a revision, and a patch.
fn split_rest(name: &str, rest: &str) -> Result<(Origin, Option<PatchSpec>), String> {
    let (version, patch) = match rest.strip_prefix('@') {
        Some(rest) => split_patch(rest).map(|(version, patch)| (Some(version), patch))?,
        None => match split_patch(rest)? {
            ("", patch) => (None, patch),
            _ => return Err(neither(&rest[1..])),
        },
    };
    let owned = version.map(str::to_owned);
    match (name, version) {
        ("released", Some(version)) if !is_version(version) => Err(format!(
            "{version:?} is not a release (accepted: a version such as released@0.56)"
        )),
        ("released", _) => Ok((Origin::Registry(owned), patch)),
        (_, Some("")) => Err("there is no revision after the @ (accepted: PATH@REV)".to_owned()),
        _ => Ok((Origin::Checkout(name.into(), owned), patch)),
    }
}

fn neither(patch: &str) -> String {
    format!("{patch:?} after the + is neither a file nor a budget (accepted: {SUBJECT_FORMS})")
}

fn budget(text: &str) -> Result<Budgets, String> {
    match text.parse::<Budgets>() {
        Ok(budgets) if budgets.ends == Ends::Both => Err(format!(
            "{text:?} after the +: a patch is one of a program, and --peers-subject says which program the peers run (accepted: the same without @both)"
        )),
        Ok(budgets) if !budgets.is_none() => Ok(budgets),
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
            Err(neither(name))
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

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
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
    fn a_patch_is_a_budget_or_a_file_that_is_there() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let root = dir.path().join("a").display().to_string();
        let diff = format!("{root}+x@y.diff");
        std::fs::create_dir(&root).expect("the folder is ours");
        std::fs::create_dir(format!("{root}+b")).expect("the folder is ours");
        std::fs::write(&diff, "").expect("the folder is ours");
        let parts = |text: String| {
            let spec: SourceSpec = text.parse().expect("a checkout");
            (folder(&text).1, spec.patch.clone(), spec.label(""))
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
        for text in ["released", "released@0.56"] {
            let (with_budget, with_file) = (format!("{text}+{bound}"), format!("{text}+{diff}"));
            let spec: SourceSpec = with_budget.parse().expect("a release");
            assert_eq!(
                (spec.to_string(), spec.label("released")),
                (with_budget.clone(), with_budget)
            );
            let spec: SourceSpec = with_file.parse().expect("a release");
            assert_eq!(
                (spec.to_string(), spec.label("released")),
                (with_file, format!("{text}+a+x@y.diff"))
            );
        }
        for (wrong, part) in [
            ("released+".to_owned(), "\"\" after the + is neither a file"),
            (
                "released+none".to_owned(),
                "\"none\" after the + is neither a file",
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
