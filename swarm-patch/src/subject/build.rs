//! Builds one subject: copies its sources, grafts them, runs cargo, and keeps the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use fs_err as fs;
use run_format::checksums::of_program;
use run_format::{BuildRecord, CrateRecord, LevelRecord};
use tempfile::TempDir;
use toml_edit::{DocumentMut, value};

use super::builder::{
    Built, EDITS, LAYERS, LOCK, Profile, Program, RECORD, STAGE, SubjectBuilder, records,
};
use super::checkout::Checkout;
use super::crates::{self, Subject, UPSTREAM};
use super::layer::{Layer, apply, copy, packages};
use super::source::{StackSource, newest};
use super::{build_crates, compiler, lock_file, ours, virtual_timer};
use crate::checkout::{self, Edit};
use crate::crate_source::CrateSource;
use crate::{layouts, sync};

impl SubjectBuilder {
    /// Builds a subject, which takes minutes. It waits for builds of other processes.
    pub fn build(&self, subject: &Subject, id: &str) -> Result<Built> {
        let lock = std::fs::File::create(self.dir.join(".lock"))?;
        lock.lock()?;
        if let Some(built) = self.find(id) {
            return Ok(built); // Another process built it meanwhile.
        }
        self.remove_leftovers();
        let mut build = Build {
            builder: self,
            subject,
            stage: tempfile::Builder::new()
                .prefix(STAGE)
                .tempdir_in(&self.dir)?,
            edits: Vec::new(),
            levels: Vec::new(),
            patches: BTreeMap::new(),
        };
        build.lay_out()?;
        build.graft_what_the_registry_has()?;
        fs::create_dir(build.done())?;
        let crates = build_crates::records(&build.metadata()?, self, subject)?;
        build.compile()?;
        build.keep(id, crates)
    }

    /// Removes the folders of interrupted builds. An error does no harm, so it is ignored.
    fn remove_leftovers(&self) {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with(STAGE) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

struct Build<'a> {
    builder: &'a SubjectBuilder,
    subject: &'a Subject,
    /// The folder in which files are prepared, before they are compared with those of the previous build.
    stage: TempDir,
    /// The changes to files of the stage.
    edits: Vec<Edit>,
    /// What they record.
    levels: Vec<LevelRecord>,
    /// The folders of the crates that replace the registry's, by name.
    patches: BTreeMap<String, PathBuf>,
}

impl Build<'_> {
    /// Copies the sources of a subject, and our own, to where they are built.
    fn lay_out(&mut self) -> Result<()> {
        let mut versions = Vec::new();
        for layer in &self.subject.layers {
            versions.push(self.lay_out_layer(layer)?);
        }
        versions.extend(self.lay_out_stack()?);
        if self.builder.kind == Program::Gate {
            self.lay_out_timer()?;
        }
        let (ours, stack) = (&self.builder.ours, self.builder.stack);
        let copy = self.stage.path().join("workspace");
        self.edits
            .extend(ours::copy(ours, stack, &copy, &versions)?);
        if ours::digest(ours, stack)? != self.builder.ours_sha256 {
            bail!("{}: a file was changed during the build", ours.display());
        }
        lock_file::begin(ours, &copy.join(LOCK))?;
        self.forget_patched(&copy.join(LOCK))?;
        self.put("workspace")?;
        self.write_config()
    }

    /// Makes a timer without a thread replace that of futures-timer.
    fn lay_out_timer(&mut self) -> Result<()> {
        let part = format!("crates/{}", virtual_timer::NAME);
        virtual_timer::write(&self.stage.path().join(&part))?;
        self.put(&part)?;
        let dir = self.builder.build_dir().join(part);
        self.patches.insert(virtual_timer::NAME.to_owned(), dir);
        Ok(())
    }

    /// Copies the subject's crates. Returns those that our manifest may name, with their versions.
    fn lay_out_stack(&mut self) -> Result<Vec<(String, String)>> {
        let (source, stack) = (&self.subject.source, self.builder.stack);
        match source {
            StackSource::Registry(version) => {
                self.copy_crates(source.of_registry(stack)?)?;
                let Some(version) = version else {
                    return Ok(Vec::new());
                };
                let stream = ours::stream_release(version)?;
                Ok(vec![
                    ("libp2p".to_owned(), version.clone()),
                    ("libp2p-stream".to_owned(), stream.to_owned()),
                ])
            }
            StackSource::Checkout(checkout) => {
                let packages = self.check_out(checkout)?;
                let packages = packages.into_iter();
                Ok(packages.map(|it| (it.name, it.version)).collect())
            }
        }
    }

    /// Copies a layer, and makes its crate replace the registry's. Returns the crate and its version.
    fn lay_out_layer(&mut self, layer: &Layer) -> Result<(String, String)> {
        let part = format!("{LAYERS}/{}", layer.name);
        let copy = self.stage.path().join(&part);
        fs::create_dir_all(self.stage.path().join(LAYERS))?;
        let (source, edits) = layer.copy(&copy)?;
        self.edits.extend(edits);
        if self.builder.stack.packages.contains(&&*source.name) {
            self.graft(std::slice::from_ref(&source))?;
        }
        self.put(&part)?;
        self.replace(&source)?;
        Ok((source.name, source.version))
    }

    /// Copies and grafts a checkout, and makes its crates replace the registry's.
    fn check_out(&mut self, checkout: &Checkout) -> Result<Vec<CrateSource>> {
        let stack = self.builder.stack;
        let copy = self.stage.path().join(UPSTREAM);
        checkout.export(&copy)?;
        self.edits.extend(apply(&copy, self.subject.diff.as_ref())?);
        // Before the graft, which adds a dependency on a folder that does not exist yet.
        let packages = packages(&copy)?;
        self.graft(&crates::with_sites(&copy, stack, stack.subjects)?)?;
        self.put(UPSTREAM)?;
        let known = fs::read_to_string(self.builder.ours.join("Cargo.lock"))?;
        for package in &packages {
            // The path of a dependency leads to the other crates, or nothing uses them.
            if known.contains(&format!("name = \"{}\"\n", package.name)) {
                self.replace(package)?;
            }
        }
        Ok(packages)
    }

    /// Makes a crate of the stage replace the registry's.
    fn replace(&mut self, source: &CrateSource) -> Result<()> {
        let below = source
            .dir
            .strip_prefix(fs::canonicalize(self.stage.path())?)?;
        let dir = self.builder.build_dir().join(below);
        match self.patches.insert(source.name.clone(), dir) {
            None => Ok(()),
            Some(_) => bail!("{} has two sources", source.name),
        }
    }

    /// Copies a part of the stage to where it is built, if it differs.
    fn put(&self, part: &str) -> Result<()> {
        let to = self.builder.build_dir().join(part);
        Ok(sync::folder(&self.stage.path().join(part), &to)?)
    }

    fn graft(&mut self, sources: &[CrateSource]) -> Result<()> {
        let probe = self.builder.workspace().join("swarm-patch/poll-probe");
        if let Some(budgets) = &self.subject.budgets {
            self.edits.extend(checkout::patch(sources, budgets)?);
        }
        let manifest = |of: &CrateSource| Edit::of_toml(of.dir.join("Cargo.toml"), |_| Ok(()));
        let mut edits = match self.subject.is_plain {
            true => sources.iter().map(manifest).collect::<Result<Vec<_>>>()?,
            false => {
                let (edits, levels) = checkout::edits(sources, &probe)?;
                self.levels.extend(records(&levels)?);
                edits
            }
        };
        for edit in &mut edits {
            if edit.path.ends_with("Cargo.toml") {
                edit.after = crates::without_wasm(&edit.after)?;
            }
        }
        checkout::write(&edits)?;
        self.edits.extend(edits);
        Ok(())
    }

    /// Copies and grafts the crates with sites that cargo still takes from the registry.
    fn graft_what_the_registry_has(&mut self) -> Result<()> {
        let stack = self.builder.stack;
        let mut packages = self.metadata()?.packages;
        packages.retain(|it| it.source.is_some() && stack.packages.contains(&it.name.as_str()));
        let sources = packages.iter().map(CrateSource::of_package);
        for source in newest(sources.collect::<Result<_>>()?) {
            match self.patches.get(&source.name) {
                None => self.copy_crates(vec![source])?,
                // Some other crate needs an older version. The stack itself uses the one in our folder.
                Some(_) if self.is_used(&source.name)? => {}
                Some(_) => bail!(
                    "its {} is not of a version that {} asks for: cargo takes {} instead",
                    source.name,
                    stack.name,
                    source.id()
                ),
            }
        }
        self.forget_patched(&self.builder.workspace().join(LOCK))?;
        self.write_config()
    }

    /// Whether a crate of that name comes from a folder.
    fn is_used(&self, name: &str) -> Result<bool> {
        let mut packages = self.metadata()?.packages.into_iter();
        Ok(packages.any(|package| package.name == name && package.source.is_none()))
    }

    /// Copies and grafts crates of the registry, and makes the copies replace them.
    fn copy_crates(&mut self, sources: Vec<CrateSource>) -> Result<()> {
        let is_layer = |of: &CrateSource| self.patches.contains_key(&of.name);
        let sources: Vec<_> = sources.into_iter().filter(|it| !is_layer(it)).collect();
        for source in sources {
            let name = format!("crates/{}-{}", source.name, source.version);
            let source = copy(&source, &self.stage.path().join(&name))?;
            self.graft(std::slice::from_ref(&source))?;
            self.put(&name)?;
            self.replace(&source)?;
        }
        Ok(())
    }

    /// Removes the replaced crates from a lock file, so that cargo resolves them again.
    fn forget_patched(&self, lock: &Path) -> Result<()> {
        let names: Vec<&str> = self.patches.keys().map(String::as_str).collect();
        lock_file::forget(lock, &names)
    }

    fn write_config(&self) -> Result<()> {
        let mut config = DocumentMut::new();
        for (name, dir) in &self.patches {
            config["patch"]["crates-io"][name]["path"] = value(dir.display().to_string());
        }
        Ok(fs::write(self.config(), config.to_string())?)
    }

    fn config(&self) -> PathBuf {
        self.builder.build_dir().join("config.toml")
    }

    /// Has cargo resolve the dependencies and download the missing ones.
    fn metadata(&self) -> Result<Metadata> {
        MetadataCommand::new()
            .cargo_path(compiler::cargo_path())
            .current_dir(self.builder.workspace())
            .other_options(vec![
                "--config".to_owned(),
                self.config().display().to_string(),
            ])
            .exec()
            .map_err(|error| compiler::in_short(&error))
    }

    fn compile(&self) -> Result<()> {
        let (mut command, stack) = (Command::new(compiler::cargo_path()), self.builder.stack);
        let (package, program) = (stack.program(), self.builder.program());
        let is_measured =
            self.builder.profile() == "release" && self.builder.kind == Program::Measuring;
        command
            .arg(if is_measured { "rustc" } else { "build" })
            .args(["--quiet", "--package", &package, "--bin", &program])
            .arg("--config")
            .arg(self.config())
            .arg("--target-dir")
            .arg(self.builder.build_dir().join("target"))
            .current_dir(self.builder.workspace());
        // That of `debug` has another name, and is the default.
        if self.builder.profile != Profile::Debug {
            command.args(["--profile", self.builder.profile()]);
        }
        // The program of the gate has TCP and the memory transport.
        let mut features = match self.builder.kind {
            Program::Gate => Vec::new(),
            _ => ours::optional_features(&self.builder.ours, stack)?,
        };
        if self.has_codecs_of_async_trait()? {
            features.push("async-trait".to_owned());
        }
        command.args(["--features", &features.join(",")]);
        let output = match is_measured {
            true => layouts::build(command, &self.done())?,
            false => command.output().context("cannot run cargo")?,
        };
        if !output.status.success() {
            // The path in an error is relative to the subject.
            let here = format!("{}/", self.builder.build_dir().display());
            let said = String::from_utf8_lossy(&output.stderr).replace(&here, "");
            bail!("it does not build: {}", compiler::first_error(&said));
        }
        Ok(())
    }

    /// Whether codecs of libp2p-request-response use `async-trait`, as before libp2p 0.57.
    fn has_codecs_of_async_trait(&self) -> Result<bool> {
        let packages = self.metadata()?.packages;
        let with_codecs = packages
            .iter()
            .filter(|package| package.name == "libp2p-request-response");
        let mut needed = with_codecs.flat_map(|package| &package.dependencies);
        Ok(needed.any(|of| of.name == "async-trait"))
    }

    /// The folder for what is kept.
    fn done(&self) -> PathBuf {
        self.stage.path().join("done")
    }

    /// Moves the program and its description to a folder of their own, which gets its name last.
    fn keep(&self, id: &str, crates: Vec<CrateRecord>) -> Result<Built> {
        let partial = self.done();
        let profile = self.builder.profile();
        let program = self.builder.program();
        let built = self.builder.build_dir().join("target").join(profile);
        let kept = partial.join(&program);
        fs::copy(built.join(&program), &kept)?;
        fs::copy(self.builder.workspace().join(LOCK), partial.join(LOCK))?;
        let edits = checkout::diff(&self.edits, &fs::canonicalize(self.stage.path())?)?;
        fs::write(partial.join(EDITS), edits)?;
        let rustc = compiler::rustc(&self.builder.ours)?;
        let record = BuildRecord {
            id: id.to_owned(),
            profile: profile.to_owned(),
            rustc: rustc.lines().next().unwrap_or_default().to_owned(),
            features: ours::features(&self.builder.ours, self.builder.stack)?,
            crates,
            levels: self.levels.clone(),
            patches: self.subject.patches(),
            edits_sha256: of_program(&partial.join(EDITS))?,
            lock_sha256: of_program(&partial.join(LOCK))?,
            program_sha256: of_program(&kept)?,
        };
        let text = serde_json::to_string_pretty(&record)? + "\n";
        fs::write(partial.join(RECORD), text)?;
        let dir = self.builder.dir.join(id);
        if dir.exists() {
            fs::remove_dir_all(&dir)?; // It is incomplete, or `find` would have found it.
        }
        fs::rename(&partial, &dir)?;
        Ok(Built {
            program: dir.join(program),
            dir,
            record,
        })
    }
}
