//! Asks git about a checkout.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use anyhow::{Context, Result, anyhow, bail};
use program::tool;

use crate::checkout::Edit;

/// A repository, by its top folder or, if it is bare, by its own folder.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    dir: PathBuf,
    has_working_tree: bool,
}

impl Repository {
    /// None if `dir` is not the top folder of a repository. It may be an unpacked archive in a folder of
    /// some other repository.
    pub(super) fn open(dir: &Path) -> Result<Option<Repository>> {
        let is_marked = dir.join(".git").exists();
        let asked = ["rev-parse", "--is-inside-work-tree", "--is-inside-git-dir"];
        let output = match command(dir).args(asked).output() {
            Ok(output) => output,
            Err(_) if !is_marked => return Ok(None),
            Err(error) => return Err(error).context("cannot run git"),
        };
        let said = String::from_utf8_lossy(&output.stdout);
        let repository = |has_working_tree| Repository {
            dir: dir.to_owned(),
            has_working_tree,
        };
        match said.split_whitespace().collect::<Vec<_>>()[..] {
            ["true", _] => {
                let repository = repository(true);
                let below = repository.text(&["rev-parse", "--show-prefix"])?;
                Ok(below.is_empty().then_some(repository))
            }
            ["false", "true"] => Ok(Some(repository(false))),
            _ if is_marked || !complaint(&output).contains("not a git repository") => {
                bail!("{}: git says: {}", dir.display(), complaint(&output))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn has_working_tree(&self) -> bool {
        self.has_working_tree
    }

    /// The id of the commit that `revision` names.
    pub(super) fn commit(&self, revision: &str) -> Result<String> {
        let wanted = format!("{revision}^{{commit}}");
        let options = ["--verify", "--quiet", "--end-of-options", &wanted];
        self.text(&[&["rev-parse"], &options[..]].concat())
            .map_err(|_| {
                let shallow = self.text(&["rev-parse", "--is-shallow-repository"]);
                let hint = match shallow.as_deref() {
                    Ok("true") => {
                        " (the repository is shallow; git fetch --depth 1 origin REV gets one)"
                    }
                    _ => "",
                };
                anyhow!(
                    "{}: there is no commit {revision:?}{hint}",
                    self.dir.display()
                )
            })
    }

    /// The first line of its message, and when it was made, in seconds since 1970.
    pub(super) fn describe(&self, commit: &str) -> Result<(String, u64)> {
        let text = self.text(&["show", "--no-patch", "--format=%ct%n%s", commit])?;
        let (time, subject_line) = text.split_once('\n').unwrap_or((&text, ""));
        Ok((subject_line.to_owned(), time.parse().unwrap_or(0)))
    }

    /// The commit that is checked out; none before the first commit.
    pub(super) fn head(&self) -> Option<String> {
        self.commit("HEAD").ok()
    }

    /// The files that differ from the commit, and the new ones that are not ignored.
    pub(super) fn changed(&self, commit: &str) -> Result<Vec<PathBuf>> {
        let tracked = ["diff", "--name-only", "--no-renames", "--no-ext-diff", "-z"];
        let mut files = self.paths(&[&tracked[..], &[commit, "--"]].concat())?;
        files.extend(self.paths(&["ls-files", "--others", "--exclude-standard", "-z"])?);
        files.sort();
        Ok(files)
    }

    /// Every file that is not ignored.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>> {
        let which = ["--cached", "--others", "--exclude-standard", "-z"];
        self.paths(&[&["ls-files"], &which[..]].concat())
    }

    /// Unpacks the tree of a commit into the folder `to`. Submodules stay empty.
    pub(super) fn export(&self, commit: &str, to: &Path) -> Result<()> {
        let mut archive = command(&self.dir)
            .args(["archive", "--format=tar", commit])
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run git")?;
        let tree = archive
            .stdout
            .take()
            .ok_or_else(|| anyhow!("git has no output"))?;
        let unpacked = Command::new(tool("tar"))
            .args(["-x", "-f", "-", "-C"])
            .arg(to)
            .stdin(tree)
            .output()
            .context("cannot run tar")?;
        let archived = archive.wait_with_output()?;
        if !archived.status.success() {
            bail!("git archive {commit}: {}", complaint(&archived));
        }
        if !unpacked.status.success() {
            bail!("tar: {}", complaint(&unpacked));
        }
        Ok(())
    }

    fn text(&self, arguments: &[&str]) -> Result<String> {
        let text =
            String::from_utf8(self.run(arguments)?).context("the output of git is not UTF-8")?;
        Ok(text.trim_end().to_owned())
    }

    fn paths(&self, arguments: &[&str]) -> Result<Vec<PathBuf>> {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
        let bytes = self.run(arguments)?;
        let names = bytes
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        let mut paths: Vec<PathBuf> = names.map(|name| OsStr::from_bytes(name).into()).collect();
        paths.sort();
        paths.dedup(); // A file with a merge conflict is listed more than once.
        Ok(paths)
    }

    fn run(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let output = command(&self.dir).args(arguments).output();
        let output = output.context("cannot run git")?;
        if !output.status.success() {
            bail!("{}: git says: {}", self.dir.display(), complaint(&output));
        }
        Ok(output.stdout)
    }
}

/// Applies a diff to the files in `dir`, which is no repository. Returns what it changed.
pub(super) fn apply(dir: &Path, diff: &Path) -> Result<Vec<Edit>> {
    let run = |options: &[&str]| {
        let mut command = command(dir);
        // Git takes no notice of a repository around `dir`.
        let around = dir.parent().unwrap_or(dir);
        let output = command.env("GIT_CEILING_DIRECTORIES", around).arg("apply");
        let output = output.args(options).arg(diff).output();
        let output = output.context("cannot run git")?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => {
                let said = complaint(&output);
                bail!("{} does not apply: git says: {said}", diff.display())
            }
        }
    };
    let files = run(&["--numstat", "-z"])?;
    // Each is preceded by the numbers of lines that are added and removed.
    let names = files
        .split('\0')
        .filter_map(|file| file.splitn(3, '\t').nth(2));
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let mut edits: Vec<Edit> = names
        .map(|name| Edit {
            before: text(&dir.join(name)),
            path: dir.join(name),
            after: String::new(),
        })
        .collect();
    run(&[])?;
    for edit in &mut edits {
        edit.after = text(&edit.path);
    }
    Ok(edits)
}

/// A git command on the repository in `dir` and no other. It takes no locks there.
fn command(dir: &Path) -> Command {
    let mut command = Command::new(tool("git"));
    for variable in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "GIT_PREFIX",
    ] {
        command.env_remove(variable);
    }
    command
        .env("LC_ALL", "C")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .arg("-C")
        .arg(dir);
    command
}

fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or("nothing")
        .trim_start_matches("fatal: ")
        .to_owned()
}
