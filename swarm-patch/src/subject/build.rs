//! One build: lays out a subject's sources, grafts them, has cargo compile, and keeps the program.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use tempfile::TempDir;
use toml_edit::{DocumentMut, InlineTable, Item, Table, value};

use super::{
    Libp2p, Subject,
    checkout::Checkout,
    compiler,
    crates::{self, Package, UPSTREAM, YAMUX},
    lock_file,
    ours::{self, Versions},
    record::{BuildRecord, CrateRecord, From},
    sync,
    workshop::{Built, EDITS, LOCK, PROGRAM, Profile, RECORD, STAGE, Workshop, sha256},
};
use crate::{
    checkout::{self, Edit},
    crate_source::{CrateSource, copy_tree},
    diff,
    sites::PACKAGES,
};

/// A build that goes on.
pub(super) struct Build<'a> {
    workshop: &'a Workshop,
    /// Where files are made ready, to be compared with those of the build before.
    stage: TempDir,
    /// In files of the stage.
    edits: Vec<Edit>,
    /// What takes the place of the registry's crates, by name.
    patches: BTreeMap<String, PathBuf>,
}

impl Build<'_> {
    pub(super) fn new(workshop: &Workshop) -> Result<Build<'_>> {
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
    pub(super) fn lay_out(&mut self, subject: &Subject) -> Result<()> {
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
        checkout: &Checkout,
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
    pub(super) fn graft_what_the_registry_has(&mut self) -> Result<()> {
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

    pub(super) fn compile(&self) -> Result<()> {
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
        let mut features = ours::transports(&self.workshop.ours)?;
        if self.has_codecs_of_async_trait()? {
            features.push("async-trait".to_owned());
        }
        command.args(["--features", &features.join(",")]);
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
    pub(super) fn keep(&self, id: &str) -> Result<Built> {
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
                bail!("no {expected} with a probe is in it");
            }
        }
        Ok(records)
    }
}

/// Where a crate of the registry is copied to.
fn crate_folder(source: &CrateSource) -> String {
    format!("crates/{}-{}", source.name, source.version)
}
