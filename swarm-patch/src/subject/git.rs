//! Asks git about a checkout.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use fs_err::{self as fs, File};
use program::system_tool_or_usr_bin;
use run_format::{Commit, Difference};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// A repository, which is only read: git writes its index and its objects to a temporary folder.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    /// The top folder of the working tree or, if the repository is bare, the repository's own folder.
    dir: PathBuf,
    pub(super) has_working_tree: bool,
    scratch: Arc<TempDir>,
    variables: Vec<(&'static str, PathBuf)>,
}

impl Repository {
    /// Opens the repository whose top folder is `dir`. There is none if `dir` is an unpacked archive, even if it lies in a
    /// folder of some other repository.
    pub(super) fn open(dir: &Path) -> Result<Option<Repository>> {
        let is_marked = dir.join(".git").exists();
        let asked =
            "rev-parse --absolute-git-dir --git-path index --git-path objects --show-toplevel";
        let output = match command(dir).args(asked.split(' ')).output() {
            Ok(output) => output,
            Err(_) if !is_marked => return Ok(None),
            Err(error) => return Err(error).context("cannot run git"),
        };
        let said = String::from_utf8_lossy(&output.stdout);
        let mut paths = said.lines().map(|path| dir.join(path));
        let (Some(own), Some(index), Some(objects)) = (paths.next(), paths.next(), paths.next())
        else {
            if is_marked || !complaint(&output).contains("not a git repository") {
                bail!("{}: git says: {}", dir.display(), complaint(&output));
            }
            return Ok(None);
        };
        // A bare repository has no top folder.
        let has_working_tree = paths.next().is_some_and(|top| top == dir);
        if !has_working_tree && own != dir {
            return Ok(None);
        }
        let mut repository = Repository::new(dir, has_working_tree)?;
        let scratch = repository.scratch.path().to_owned();
        if let Ok(mut index) = File::open(index) {
            let mut copy = File::create(scratch.join("index"))?;
            io::copy(&mut index, &mut copy)?;
            // The copy gets the time of the original, because git reads every file again that is not older than the index.
            copy.set_modified(index.metadata()?.modified()?)?;
        }
        fs::create_dir(scratch.join("objects"))?;
        repository.variables = vec![
            ("GIT_INDEX_FILE", scratch.join("index")),
            ("GIT_OBJECT_DIRECTORY", scratch.join("objects")),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects),
        ];
        Ok(Some(repository))
    }

    /// Makes a new repository of the files in a folder. The repository itself lies elsewhere.
    pub(super) fn around(dir: &Path) -> Result<Repository> {
        let mut repository = Repository::new(dir, true)?;
        let scratch = repository.scratch.path().to_owned();
        repository.run(&["init", "--quiet", "--bare", &scratch.to_string_lossy()])?;
        repository.variables = vec![("GIT_DIR", scratch), ("GIT_WORK_TREE", dir.to_owned())];
        Ok(repository)
    }

    fn new(dir: &Path, has_working_tree: bool) -> Result<Repository> {
        Ok(Repository {
            dir: dir.to_owned(),
            has_working_tree,
            scratch: Arc::new(tempfile::tempdir().context("cannot make a temporary folder")?),
            variables: Vec::new(),
        })
    }

    /// The commit that `revision` names.
    pub(super) fn commit(&self, revision: &str) -> Result<Commit> {
        let wanted = format!("{revision}^{{commit}}");
        // This refuses a range of commits.
        let id = self.text(&["rev-parse", "--verify", "--end-of-options", &wanted]);
        let show = |id: &str| self.text(&["show", "--no-patch", "--format=%H%n%ct%n%s", id]);
        let text = id.and_then(|id| show(&id)).map_err(|_| {
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
        })?;
        let mut lines = text.lines().map(str::to_owned);
        let mut line = || lines.next().unwrap_or_default();
        Ok(Commit {
            id: line(),
            committed_unix_s: line().parse().unwrap_or(0),
            subject_line: line(),
        })
    }

    /// The tree of the files as they are now, without the untracked files that git ignores. In a folder without git only the
    /// top folder `target` is ignored.
    pub(super) fn snapshot(&self, has_git: bool) -> Result<String> {
        self.run(match has_git {
            true => &["add", "--all"],
            false => &["add", "--all", "--force", "--", ".", ":(exclude,top)target"],
        })?;
        self.text(&["write-tree"])
    }

    /// The difference between the commit and the tree. Before the first commit, everything differs.
    pub(super) fn difference(
        &self,
        commit: Option<&Commit>,
        tree: &str,
    ) -> Result<Option<Difference>> {
        let nothing = self.text(&["mktree"])?;
        let before = commit.map_or(&nothing, |commit| &commit.id);
        let changes = self.run(&["diff-tree", "-r", "--no-renames", before, tree])?;
        let files = changes.split(|byte| *byte == b'\n').count() - 1;
        Ok((files > 0 || commit.is_none()).then(|| Difference {
            files,
            sha256: format!("{:x}", Sha256::digest(&changes)),
        }))
    }

    /// The hash of the names and contents of all files.
    pub(super) fn tree_sha256(&self, tree: &str) -> Result<String> {
        let files = self.run(&["ls-tree", "-r", tree])?;
        Ok(format!("{:x}", Sha256::digest(files)))
    }

    /// Copies the files of a commit or a tree to the folder `to`. Submodules stay empty.
    pub(super) fn export(&self, files: &str, to: &Path) -> Result<()> {
        let there = format!("--work-tree={}", to.display());
        self.run(&["read-tree", files])?;
        self.run(&[&there, "checkout-index", "--all"])?;
        Ok(())
    }

    fn text(&self, arguments: &[&str]) -> Result<String> {
        let text =
            String::from_utf8(self.run(arguments)?).context("the output of git is not UTF-8")?;
        Ok(text.trim_end().to_owned())
    }

    fn run(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let variables = self.variables.iter().map(|(name, path)| (name, path));
        let output = command(&self.dir)
            .envs(variables)
            .args(arguments)
            .output()
            .context("cannot run git")?;
        if !output.status.success() {
            bail!("{}: git says: {}", self.dir.display(), complaint(&output));
        }
        Ok(output.stdout)
    }
}

/// Applies a diff to the files in `dir`, which is no repository. Returns what git prints.
pub(super) fn apply(dir: &Path, diff: &str, options: &[&str]) -> Result<String> {
    let output = command(dir)
        // Git does not look for a repository around `dir`.
        .env("GIT_CEILING_DIRECTORIES", dir.parent().unwrap_or(dir))
        .arg("apply")
        .args(options)
        .arg(diff)
        .output()
        .context("cannot run git")?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let said = complaint(&output);
            bail!("{diff} does not apply: git says: {said}")
        }
    }
}

/// A git command on the repository in `dir`, which it does not lock. Environment variables that name another repository have
/// no effect.
fn command(dir: &Path) -> Command {
    const OTHERS: &str = "DIR WORK_TREE INDEX_FILE OBJECT_DIRECTORY COMMON_DIR PREFIX";
    let mut command = Command::new(system_tool_or_usr_bin("git"));
    for variable in OTHERS.split(' ') {
        command.env_remove(format!("GIT_{variable}"));
    }
    command.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0");
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command.arg("-C").arg(dir);
    command
}

fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty());
    let complaint = line.map(|line| line.trim_start_matches("fatal: "));
    complaint.unwrap_or("nothing").to_owned()
}
