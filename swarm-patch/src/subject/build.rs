//! Builds one subject: copies its sources, grafts them, runs cargo, and keeps the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use cargo_metadata::Metadata;
use fs_err as fs;
use run_format::checksums::sha256_of_program;
use run_format::{BuildRecord, CrateOrigin, CrateRecord, LevelRecord};
use tempfile::TempDir;
use toml_edit::value;

use super::builder::{Built, EDITS, LOCK, Profile, Program, RECORD, STAGE, SubjectBuilder};
use super::crates::{LAYER, Subject, UPSTREAM, remove_wasm};
use super::source::{copy_crate, newest, packages_in};
use super::{compiler, lock_file, virtual_timer};
use crate::cargo_run::MESSAGES;
use crate::crate_dir::CrateDir;
use crate::edits::Edits;
use crate::sites::SiteLevels;
use crate::source_tree::{self, relative};
use crate::stacks::Stack;
use crate::{cargo_run, layouts, sync};

impl SubjectBuilder {
    /// Builds a subject, which takes minutes. `title` names it to the user. If another process builds a subject, this waits.
    pub fn build(&self, subject: &Subject, id: &str, title: &str) -> Result<Built> {
        let lock = std::fs::File::create(self.dir.join(".lock"))?;
        program::lock(&lock, "waiting for another build of subjects")?;
        let began = Instant::now();
        if let Some(built) = self.find(id) {
            return Ok(built); // Another process built it meanwhile.
        }
        self.remove_leftovers();
        let stage = TempDir::with_prefix_in(STAGE, &self.dir)?;
        let mut build = Build {
            builder: self,
            subject,
            dir: stage.path().join("build"),
            stage,
            edits: Edits::default(),
            levels: Vec::new(),
            replacements: BTreeMap::new(),
        };
        build.copy_sources()?;
        let metadata = build.graft_registry_crates()?;
        let crates = crate_records(&metadata, &build.dir, self.stack, subject)?;
        for entry in fs::read_dir(&build.dir)? {
            let name = entry?.file_name();
            sync::folder(&build.dir.join(&name), &self.build_dir().join(&name))?;
        }
        fs::create_dir(build.kept_dir())?;
        build.compile(&metadata, title, &self.dir.join(format!("{id}.log")))?;
        let built = build.keep(id, crates)?;
        fs::write(self.time_file(), began.elapsed().as_secs().to_string())?;
        Ok(built)
    }

    /// Removes the folders of interrupted builds. A folder that cannot be removed does no harm.
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
    stage: TempDir,
    /// The folder of the stage in which sources are prepared, before they are compared with those of the previous build.
    dir: PathBuf,
    /// The changes to files in `dir`.
    edits: Edits,
    /// The levels of the sites in the grafted crates.
    levels: Vec<LevelRecord>,
    /// The crates that replace those of the registry. Their folders are relative to the workspace.
    replacements: BTreeMap<String, PathBuf>,
}

impl Build<'_> {
    fn workspace(&self) -> PathBuf {
        self.dir.join("workspace")
    }

    /// Copies the sources of a subject and our own sources, and grafts those of the subject.
    fn copy_sources(&mut self) -> Result<()> {
        let (ours, stack) = (&self.builder.ours, self.builder.stack);
        let (checkout_crates, layers) =
            self.subject
                .copy_sources(stack, &self.dir, &mut self.edits)?;
        let mut replacing = layers.clone();
        if self.subject.source.checkout.is_some() {
            let lock = fs::read_to_string(ours.root.join(LOCK))?;
            // Packages that our lock file does not name are found by the paths of dependencies, if anything uses them. Cargo
            // is asked before the graft, which adds a dependency on a folder that does not exist yet.
            let packages = packages_in(&self.dir.join(UPSTREAM))?.into_iter();
            replacing.extend(
                packages.filter(|package| lock.contains(&format!("name = \"{}\"\n", package.name))),
            );
        }
        let mut versions = self.subject.source.versions()?;
        for source in &replacing {
            versions.push((source.name.clone(), source.version.clone()));
        }
        ours.copy(stack, &self.workspace(), &versions, &mut self.edits)?;
        if ours.digest(stack)? != self.builder.ours_sha256 {
            bail!(
                "{}: a file was changed during the build",
                ours.root.display()
            );
        }
        let mut copied = Vec::new();
        for source in self.subject.source.registry_crates(stack)? {
            // The registry's crate asks for exact versions of crates for wasm. We have other versions, so cargo could not
            // resolve it. The copy does not ask for them.
            let is_layer = layers.iter().any(|layer| layer.name == source.name);
            if stack.checkout_crates.contains(&&*source.name) && !is_layer {
                copied.push(self.copy(&source)?);
            }
        }
        replacing.extend(copied.iter().cloned());
        if self.builder.program == Program::Gate {
            // A timer without a thread takes the place of futures-timer.
            replacing.push(virtual_timer::write(self.dir.join("crate-futures-timer"))?);
        }
        let with_sites = checkout_crates.iter().chain(&layers).chain(&copied);
        for source in with_sites.filter(|source| stack.packages.contains(&&*source.name)) {
            self.graft(source)?;
        }
        for source in &replacing {
            self.replace(source)?;
        }
        self.write_replacements()?;
        let replaced: Vec<&str> = self.replacements.keys().map(String::as_str).collect();
        let lock = lock_file::begin(&ours.root, &replaced)?;
        Ok(fs::write(self.workspace().join(LOCK), lock)?)
    }

    fn copy(&self, source: &CrateDir) -> Result<CrateDir> {
        let folder = format!("crate-{}-{}", source.name, source.version);
        copy_crate(source, &self.dir.join(folder))
    }

    /// Makes a crate of the stage replace that of the registry.
    fn replace(&mut self, source: &CrateDir) -> Result<()> {
        let dir = relative(&self.workspace(), &source.dir);
        match self.replacements.insert(source.name.clone(), dir) {
            None => Ok(()),
            Some(_) => bail!("{} has two sources", source.name),
        }
    }

    fn write_replacements(&mut self) -> Result<()> {
        let manifest = self.workspace().join("Cargo.toml");
        self.edits.toml(manifest, |manifest| {
            for (name, dir) in &self.replacements {
                manifest["patch"]["crates-io"][name]["path"] = value(dir.display().to_string());
            }
        })
    }

    fn graft(&mut self, source: &CrateDir) -> Result<()> {
        if let Some(budgets) = &self.subject.budgets {
            source_tree::patch(std::slice::from_ref(source), budgets, &mut self.edits)?;
        }
        if !self.subject.is_plain {
            let probe = self.workspace().join("swarm-patch/poll-probe");
            let grafted = source_tree::grafted(source, &probe)?;
            for (path, text) in grafted.files {
                self.edits.write(path, &text)?;
            }
            self.levels
                .extend(grafted.sites.iter().flat_map(SiteLevels::records));
        }
        self.edits.toml(source.dir.join("Cargo.toml"), remove_wasm)
    }

    /// Copies and grafts the crates with sites that cargo still takes from the registry. Returns the resulting dependencies.
    fn graft_registry_crates(&mut self) -> Result<Metadata> {
        let stack = self.builder.stack;
        let packages = compiler::metadata(&self.workspace(), &[])?.packages;
        let sources = packages
            .iter()
            .filter(|package| stack.packages.contains(&package.name.as_str()))
            .filter(|package| package.source.is_some())
            .map(CrateDir::from_package)
            .collect::<Result<_>>()?;
        for source in newest(sources) {
            let mut named = packages
                .iter()
                .filter(|package| package.name.as_str() == source.name);
            if !self.replacements.contains_key(&source.name) {
                let copy = self.copy(&source)?;
                self.graft(&copy)?;
                self.replace(&copy)?;
            } else if named.all(|package| package.source.is_some()) {
                bail!(
                    "its {} is not of a version that {} asks for: cargo takes {} instead",
                    source.name,
                    stack.name,
                    source.id()
                );
            }
            // Otherwise the stack uses the version in our folder, and some other crate needs an older version.
        }
        self.write_replacements()?;
        compiler::metadata(&self.workspace(), &[])
    }

    fn compile(&self, metadata: &Metadata, title: &str, log: &Path) -> Result<()> {
        let (builder, stack) = (self.builder, self.builder.stack);
        let mut command = Command::new(compiler::cargo_path());
        let is_measured =
            builder.profile == Profile::Release && builder.program == Program::Measuring;
        command
            .arg(if is_measured { "rustc" } else { "build" })
            .args([MESSAGES, "--package", &stack.program()])
            .args(["--bin", &builder.program_name(), "--target-dir"])
            .arg(builder.target())
            .current_dir(builder.build_dir().join("workspace"));
        // The profile whose folder is `debug` is the default.
        if builder.profile != Profile::Debug {
            command.args(["--profile", builder.profile_name()]);
        }
        // The gate's program has only TCP and the memory transport, which are not optional.
        let mut features = match builder.program {
            Program::Gate => Vec::new(),
            _ => builder.ours.optional_features(stack)?,
        };
        features.extend(builder.program.feature().map(str::to_owned));
        if has_codecs_of_async_trait(metadata) {
            features.push("async-trait".to_owned());
        }
        command.args(["--features", &features.join(",")]);
        let run = |command: &mut Command| cargo_run::build(command, title, log);
        let built = match is_measured {
            true => layouts::build(command, &self.kept_dir(), run),
            false => run(&mut command),
        };
        built.map_err(|error| {
            // The error names the file by its path in the subject.
            let here = format!("{}/", builder.build_dir().display());
            anyhow!(
                "it does not build: {}",
                format!("{error:#}").replace(&here, "")
            )
        })
    }

    /// The folder of the files that are kept.
    fn kept_dir(&self) -> PathBuf {
        self.stage.path().join("done")
    }

    /// Moves the program and its description to the folder of the subject. The folder gets its name when it is complete.
    fn keep(&self, id: &str, crates: Vec<CrateRecord>) -> Result<Built> {
        let (partial, builder) = (self.kept_dir(), self.builder);
        let (profile, program) = (builder.profile_name(), builder.program_name());
        let kept = partial.join(&program);
        fs::copy(builder.target().join(profile).join(&program), &kept)?;
        let lock = builder.build_dir().join("workspace").join(LOCK);
        fs::copy(lock, partial.join(LOCK))?;
        fs::write(partial.join(EDITS), self.edits.diff(&self.dir)?)?;
        let rustc = compiler::rustc(&builder.ours.root)?;
        let record = BuildRecord {
            id: id.to_owned(),
            profile: profile.to_owned(),
            rustc: rustc.lines().next().unwrap_or_default().to_owned(),
            features: builder.ours.features(builder.stack)?,
            crates,
            levels: self.levels.clone(),
            patches: self.subject.patches(),
            edits_sha256: sha256_of_program(&partial.join(EDITS))?,
            lock_sha256: sha256_of_program(&partial.join(LOCK))?,
            program_sha256: sha256_of_program(&kept)?,
        };
        let text = serde_json::to_string_pretty(&record)? + "\n";
        fs::write(partial.join(RECORD), text)?;
        let dir = builder.dir.join(id);
        if dir.exists() {
            fs::remove_dir_all(&dir)?; // The folder is damaged, or `find` would have found the program.
        }
        fs::rename(&partial, &dir)?;
        Ok(Built {
            program: dir.join(program),
            dir,
            record,
        })
    }
}

/// Whether codecs of libp2p-request-response use `async-trait`, as they do before libp2p 0.57.
fn has_codecs_of_async_trait(metadata: &Metadata) -> bool {
    let packages = metadata.packages.iter();
    packages
        .filter(|package| package.name == "libp2p-request-response")
        .flat_map(|package| &package.dependencies)
        .any(|dependency| dependency.name == "async-trait")
}

/// The crates of a build that do not come from the registry unchanged.
fn crate_records(
    metadata: &Metadata,
    build: &Path,
    stack: &Stack,
    subject: &Subject,
) -> Result<Vec<CrateRecord>> {
    let mut records = Vec::new();
    for package in &metadata.packages {
        let Ok(below) = package.manifest_path.strip_prefix(build) else {
            continue;
        };
        let from = match below.as_str() {
            below if below.starts_with(UPSTREAM) => CrateOrigin::Subject,
            below if below.starts_with(LAYER) => CrateOrigin::Layer,
            below if below.starts_with("crate-") => CrateOrigin::Registry,
            _ => continue,
        };
        records.push(CrateRecord {
            grafted: !subject.is_plain && stack.packages.contains(&package.name.as_str()),
            name: package.name.to_string(),
            version: package.version.to_string(),
            from,
        });
    }
    records.sort_by(|one, other| one.name.cmp(&other.name));
    let layers = subject.layers.keys().map(String::as_str);
    for expected in stack.packages.iter().copied().chain(layers) {
        if !records.iter().any(|record| record.name == expected) {
            bail!("nothing in the build accepts this version of {expected}");
        }
    }
    Ok(records)
}
