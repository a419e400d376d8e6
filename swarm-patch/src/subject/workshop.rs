//! Builds the benchmark against subjects, and keeps the programs.
//!
//! ```text
//! target/subjects/
//!     build/              what all builds share
//!         workspace/      our workspace, copied
//!         upstream/       the subject's libp2p, grafted
//!         yamux/          the subject's yamux, grafted
//!         crates/         crates with sites that come from the registry, copied and grafted
//!         config.toml     has cargo take those in the place of the registry's
//!         target/
//!     ID/                 a subject: latency-benchmark, subject.json, edits.diff, Cargo.lock
//! ```
//!
//! All subjects are built in the same folders, one after the other, and of their files only those are
//! written that differ. So cargo builds anew what differs and what depends on it; and to the compiler all
//! subjects have the same names, so that code that is the same is laid out alike.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use toml_edit::{DocumentMut, InlineTable, Item, Table, value};

use super::{
    Libp2p, Subject, compiler,
    crates::{self, Package, UPSTREAM, YAMUX},
    lock_file,
    ours::{self, Versions},
    record::{BuildRecord, CrateRecord, From, SourceRecord},
    sync,
};
use crate::{
    checkout::{self, Edit},
    crate_source::{CrateSource, copy_tree},
    diff,
    graft::graft,
    sites::PACKAGES,
};

/// The program of a subject, in its folder.
pub const PROGRAM: &str = "latency-benchmark";
/// What was inserted, beside it.
pub const EDITS: &str = "edits.diff";
/// The versions that it was built with, beside it.
pub const LOCK: &str = "Cargo.lock";
/// What is known of it, beside it; written last.
const RECORD: &str = "subject.json";
/// Begins the names of folders that last as long as a build.
const STAGE: &str = "stage-";

/// How programs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// As what is measured.
    Release,
    /// As tests.
    Debug,
}

/// Where programs are built and kept.
pub struct Workshop {
    dir: PathBuf,
    ours: PathBuf,
    /// Of our sources, when it was opened.
    ours_sha256: String,
    profile: Profile,
}

/// A program that was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// Its folder.
    pub dir: PathBuf,
    /// What is known of it.
    pub record: BuildRecord,
}

impl Built {
    /// Its file.
    pub fn program(&self) -> PathBuf {
        self.dir.join(PROGRAM)
    }
}

impl Workshop {
    /// In the target folder of this workspace.
    pub fn open(profile: Profile) -> Result<Workshop> {
        let ours = ours::root()?;
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| ours.join("target"), Into::into);
        let dir = target.join("subjects");
        fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        Ok(Workshop {
            dir: fs::canonicalize(dir)?,
            ours_sha256: ours::digest(&ours)?,
            ours,
            profile,
        })
    }

    /// Names a subject by all that its program is made of.
    pub fn id(&self, subject: &Subject) -> Result<String> {
        let sources = [
            Some(subject.libp2p.record()),
            subject.yamux.as_ref().map(checkout_record),
        ];
        let parts = [
            "1".to_owned(), // Counts changes of how programs are made that nothing below shows.
            serde_json::to_string(&sources.map(|source| source.map(content)))?,
            self.ours_sha256.clone(),
            compiler::rustc(&self.ours)?,
            compiler::flags(),
            format!("{:?}", self.profile),
            self.dir.display().to_string(),
        ];
        let digest = format!("{:x}", Sha256::digest(parts.join("\0")));
        Ok(digest[..16].to_owned())
    }

    /// The program of that name, if it was built and is as it was then.
    pub fn find(&self, id: &str) -> Option<Built> {
        let dir = self.dir.join(id);
        let text = fs::read_to_string(dir.join(RECORD)).ok()?;
        let built = Built {
            record: serde_json::from_str(&text).ok()?,
            dir,
        };
        let is_whole = sha256(&built.program()).ok()? == built.record.program_sha256;
        is_whole.then_some(built)
    }

    /// Refuses what the graft does not know or what is no libp2p. That takes a moment, whereas building
    /// takes minutes.
    pub fn check(subject: &Subject) -> Result<()> {
        let copy = tempfile::tempdir().context("cannot make a temporary folder")?;
        for source in crates::sources(subject, copy.path())? {
            graft(&source)?;
        }
        if let Libp2p::Checkout(checkout) = &subject.libp2p {
            let packages = crates::packages(&copy.path().join(UPSTREAM));
            packages
                .and_then(|packages| crates::versions(&packages))
                .with_context(|| checkout.spec().to_string())?;
        }
        Ok(())
    }

    /// Builds it, which takes minutes. Others that build wait.
    pub fn build(&self, subject: &Subject, id: &str) -> Result<Built> {
        let lock = fs::File::create(self.dir.join(".lock"))?;
        lock.lock()?;
        if let Some(built) = self.find(id) {
            return Ok(built); // By who built meanwhile.
        }
        self.remove_leftovers();
        let mut build = Build::new(self)?;
        build.lay_out(subject)?;
        build.graft_what_the_registry_has()?;
        build.compile()?;
        build.keep(id)
    }

    /// What interrupted builds left. If some of it stays, no harm is done.
    fn remove_leftovers(&self) {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with(STAGE) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    fn build_dir(&self) -> PathBuf {
        self.dir.join("build")
    }

    fn workspace(&self) -> PathBuf {
        self.build_dir().join("workspace")
    }
}

/// Without names, of which a commit has many.
fn content(source: SourceRecord) -> Option<SourceRecord> {
    match source {
        SourceRecord::Checkout {
            commit,
            difference,
            tree_sha256,
            ..
        } => Some(SourceRecord::Checkout {
            path: String::new(),
            revision: None,
            commit,
            difference,
            tree_sha256,
        }),
        other => Some(other),
    }
}

fn checkout_record(checkout: &super::checkout::Checkout) -> SourceRecord {
    checkout.record()
}

/// A build that goes on.
struct Build<'a> {
    workshop: &'a Workshop,
    /// Where files are made ready, to be compared with those of the build before.
    stage: TempDir,
    /// In files of the stage.
    edits: Vec<Edit>,
    /// What takes the place of the registry's crates, by name.
    patches: BTreeMap<String, PathBuf>,
}

impl Build<'_> {
    fn new(workshop: &Workshop) -> Result<Build<'_>> {
        Ok(Build {
            workshop,
            stage: tempfile::Builder::new()
                .prefix(STAGE)
                .tempdir_in(&workshop.dir)?,
            edits: Vec::new(),
            patches: BTreeMap::new(),
        })
    }

    /// Puts sources where they are built.
    fn lay_out(&mut self, subject: &Subject) -> Result<()> {
        let versions = self.lay_out_libp2p(&subject.libp2p)?;
        if let Some(yamux) = &subject.yamux {
            self.check_out(yamux, YAMUX, "yamux")
                .with_context(|| format!("--yamux {}", yamux.spec()))?;
        }
        let ours = &self.workshop.ours;
        let copy = self.stage.path().join("workspace");
        self.edits
            .extend(ours::copy(ours, &copy, versions.as_ref())?);
        if ours::digest(ours)? != self.workshop.ours_sha256 {
            bail!("{}: it was changed meanwhile", ours.display());
        }
        lock_file::begin(ours, &copy.join(LOCK))?;
        self.forget_patched(&copy.join(LOCK))?;
        self.put("workspace")?;
        self.write_config()
    }

    /// Returns the versions that our workspace is to ask for, if not for those that it does.
    fn lay_out_libp2p(&mut self, libp2p: &Libp2p) -> Result<Option<Versions>> {
        match libp2p {
            Libp2p::Released => {
                self.copy_crates(crates::of_lock_file()?)?;
                Ok(None)
            }
            Libp2p::Release(version) => {
                let folder = self.stage.path().join("release");
                fs::create_dir(&folder)?;
                self.copy_crates(crates::of_release(version, &folder)?)?;
                Ok(Some(Versions {
                    libp2p: version.clone(),
                    stream: ours::stream_release(version)?.to_owned(),
                }))
            }
            Libp2p::Checkout(checkout) => {
                let packages = self.check_out(checkout, UPSTREAM, "libp2p-swarm");
                let versions = packages.and_then(|packages| crates::versions(&packages));
                let versions = versions.with_context(|| checkout.spec().to_string())?;
                Ok(Some(versions))
            }
        }
    }

    /// Copies and grafts a checkout, and has its crates take the place of the registry's.
    fn check_out(
        &mut self,
        checkout: &super::checkout::Checkout,
        part: &str,
        expected: &str,
    ) -> Result<Vec<Package>> {
        let copy = self.stage.path().join(part);
        checkout.export(&copy)?;
        // First, since the grafted ones depend on what is not there yet.
        let packages = crates::packages(&copy)?;
        self.graft(&crates::with_sites(&copy, expected)?)?;
        self.put(part)?;
        let known = fs::read_to_string(self.workshop.ours.join("Cargo.lock"))?;
        for package in &packages {
            // Others are reached by their paths, or not at all.
            if known.contains(&format!("name = \"{}\"\n", package.name)) {
                let below = package.dir.strip_prefix(fs::canonicalize(&copy)?)?;
                let dir = self.workshop.build_dir().join(part).join(below);
                self.patches.insert(package.name.clone(), dir);
            }
        }
        Ok(packages)
    }

    /// Has the part of the stage built, and leaves alone what is there of other subjects.
    fn put(&self, part: &str) -> Result<()> {
        let to = self.workshop.build_dir().join(part);
        sync::folder(&self.stage.path().join(part), &to)
    }

    fn graft(&mut self, sources: &[CrateSource]) -> Result<()> {
        let probe = self.workshop.workspace().join("swarm-patch/poll-probe");
        let mut edits = checkout::edits(sources, &probe)?;
        for edit in &mut edits {
            if edit.path.ends_with("Cargo.toml") {
                edit.after = crates::without_wasm(&edit.after)?;
            }
        }
        checkout::write(&edits)?;
        self.edits.extend(edits);
        Ok(())
    }

    /// Crates with sites that cargo still takes from the registry are copied and grafted as well.
    fn graft_what_the_registry_has(&mut self) -> Result<()> {
        let mut sources = Vec::new();
        for package in self.metadata()?.packages {
            if package.source.is_none() || !PACKAGES.contains(&package.name.as_str()) {
                continue;
            }
            let (name, version) = (&package.name, package.version.to_string());
            let dir = package.manifest_path.parent().map(Into::into);
            sources.push(CrateSource::new(
                name,
                &version,
                dir.unwrap_or_default(),
                None,
            )?);
        }
        for source in crates::newest(sources) {
            match self.patches.get(&source.name) {
                None => self.copy_crates(vec![source])?,
                // An older one is there for who asks for it by name; libp2p itself does not.
                Some(_) if self.is_used(&source.name)? => {}
                Some(dir) => bail!(
                    "{} is not what libp2p asks for: cargo takes {} instead",
                    dir.display(),
                    source.id()
                ),
            }
        }
        self.forget_patched(&self.workshop.workspace().join(LOCK))?;
        self.write_config()
    }

    /// Whether a crate of that name comes from a folder.
    fn is_used(&self, name: &str) -> Result<bool> {
        let mut packages = self.metadata()?.packages.into_iter();
        Ok(packages.any(|package| package.name == name && package.source.is_none()))
    }

    /// Copies and grafts crates of the registry, and has the copies take their place.
    fn copy_crates(&mut self, sources: Vec<CrateSource>) -> Result<()> {
        for source in sources {
            let name = crate_folder(&source);
            let copy = self.stage.path().join(&name);
            copy_tree(&source.dir, &copy)?;
            // Says that cargo unpacked it there, which it did not.
            let _ = fs::remove_file(copy.join(".cargo-ok"));
            let copy = CrateSource::new(&source.name, &source.version, copy, None)?;
            self.graft(&[copy])?;
            self.put(&name)?;
            let dir = self.workshop.build_dir().join(name);
            self.patches.insert(source.name, dir);
        }
        Ok(())
    }

    /// What was locked to the registry's is looked for anew.
    fn forget_patched(&self, lock: &Path) -> Result<()> {
        let names: Vec<&str> = self.patches.keys().map(String::as_str).collect();
        lock_file::forget(lock, &names)
    }

    fn write_config(&self) -> Result<()> {
        let mut config = DocumentMut::new();
        let mut patches = Table::new();
        for (name, dir) in &self.patches {
            let mut path = InlineTable::new();
            path.insert("path", dir.display().to_string().into());
            patches.insert(name, value(path));
        }
        let mut registries = Table::new();
        registries.set_implicit(true);
        registries.insert("crates-io", Item::Table(patches));
        config.insert("patch", Item::Table(registries));
        let path = self.config();
        fs::write(&path, config.to_string())
            .with_context(|| format!("cannot write {}", path.display()))
    }

    fn config(&self) -> PathBuf {
        self.workshop.build_dir().join("config.toml")
    }

    /// Resolves, and downloads what is missing.
    fn metadata(&self) -> Result<Metadata> {
        MetadataCommand::new()
            .cargo_path(compiler::cargo_path())
            .current_dir(self.workshop.workspace())
            .other_options(vec![
                "--config".to_owned(),
                self.config().display().to_string(),
            ])
            .exec()
            .map_err(|error| compiler::in_short(&error))
    }

    fn compile(&self) -> Result<()> {
        let mut command = Command::new(compiler::cargo_path());
        command
            .args(["build", "--quiet", "--package", PROGRAM, "--bin", PROGRAM])
            .arg("--config")
            .arg(self.config())
            .arg("--target-dir")
            .arg(self.target_dir())
            .current_dir(self.workshop.workspace());
        if self.workshop.profile == Profile::Release {
            command.arg("--release");
        }
        if self.has_codecs_of_async_trait()? {
            command.args(["--features", "async-trait"]);
        }
        let output = command.output().context("cannot run cargo")?;
        if !output.status.success() {
            // The place of an error is one of the subject's, not of this machine's.
            let here = format!("{}/", self.workshop.build_dir().display());
            let said = String::from_utf8_lossy(&output.stderr).replace(&here, "");
            bail!("it does not build: {}", compiler::first_error(&said));
        }
        Ok(())
    }

    /// As before libp2p 0.57.
    fn has_codecs_of_async_trait(&self) -> Result<bool> {
        let packages = self.metadata()?.packages;
        let mut with_codecs = packages
            .iter()
            .filter(|package| package.name == "libp2p-request-response");
        Ok(with_codecs.any(|package| {
            let mut names = package.dependencies.iter().map(|of| &of.name);
            names.any(|name| name == "async-trait")
        }))
    }

    fn target_dir(&self) -> PathBuf {
        self.workshop.build_dir().join("target")
    }

    /// Moves the program and what is known of it to a folder of their own, which gets its name last.
    fn keep(&self, id: &str) -> Result<Built> {
        let partial = self.stage.path().join("done");
        fs::create_dir(&partial)?;
        let profile = match self.workshop.profile {
            Profile::Release => "release",
            Profile::Debug => "debug",
        };
        let program = self.target_dir().join(profile).join(PROGRAM);
        fs::copy(&program, partial.join(PROGRAM))
            .with_context(|| format!("cannot copy {}", program.display()))?;
        fs::copy(self.workshop.workspace().join(LOCK), partial.join(LOCK))?;
        fs::write(partial.join(EDITS), self.diff()?)?;
        let rustc = compiler::rustc(&self.workshop.ours)?;
        let record = BuildRecord {
            id: id.to_owned(),
            profile: profile.to_owned(),
            rustc: rustc.lines().next().unwrap_or_default().to_owned(),
            features: ours::features(&self.workshop.ours)?,
            crates: self.crates()?,
            edits_sha256: sha256(&partial.join(EDITS))?,
            lock_sha256: sha256(&partial.join(LOCK))?,
            program_sha256: sha256(&partial.join(PROGRAM))?,
        };
        let text = serde_json::to_string_pretty(&record)? + "\n";
        fs::write(partial.join(RECORD), text)?;
        let dir = self.workshop.dir.join(id);
        if dir.exists() {
            fs::remove_dir_all(&dir)?; // It was not whole, or it would have been found.
        }
        fs::rename(&partial, &dir)?;
        Ok(Built { dir, record })
    }

    /// Every edit, as one diff against `target/subjects/build`.
    fn diff(&self) -> Result<String> {
        let stage = fs::canonicalize(self.stage.path())?;
        let mut text = String::new();
        for Edit {
            path,
            before,
            after,
        } in &self.edits
        {
            let path = fs::canonicalize(path)?;
            let below = path.strip_prefix(&stage)?.display().to_string();
            text += &diff::one(&below, before, after);
        }
        Ok(text)
    }

    fn crates(&self) -> Result<Vec<CrateRecord>> {
        let build = self.workshop.build_dir();
        let mut records = Vec::new();
        for package in self.metadata()?.packages {
            let path: &Path = package.manifest_path.as_ref();
            let from = match path.strip_prefix(&build) {
                Ok(below) if below.starts_with(UPSTREAM) => From::Subject,
                Ok(below) if below.starts_with(YAMUX) => From::Yamux,
                Ok(below) if below.starts_with("crates") => From::Registry,
                _ => continue,
            };
            records.push(CrateRecord {
                grafted: PACKAGES.contains(&package.name.as_str()),
                name: package.name.to_string(),
                version: package.version.to_string(),
                from,
            });
        }
        records.sort_by(|one, other| one.name.cmp(&other.name));
        for expected in PACKAGES {
            if !records.iter().any(|record| record.name == expected) {
                return Err(anyhow!("no {expected} with a probe is in it"));
            }
        }
        Ok(records)
    }
}

/// Where a crate of the registry is copied to.
fn crate_folder(source: &CrateSource) -> String {
    format!("crates/{}-{}", source.name, source.version)
}

fn sha256(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(format!("{:x}", Sha256::digest(bytes)))
}
