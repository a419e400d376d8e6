//! Sources: the crates of a stack come from the registry or from a checkout.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::semver::Version;
use fs_err as fs;
use run_format::checksums::sha256_of_program;
use run_format::{PatchRecord, SourceRecord};
use toml_edit::{DocumentMut, Item};

use super::checkout::Checkout;
use super::source_spec::{Origin, SourceSpec};
use super::spec::LayerSpec;
use super::{compiler, git, ours};
use crate::crate_dir::CrateDir;
use crate::edits::{Edits, read_toml};
use crate::package::upstream_manifest;
use crate::stacks::{Stack, sites_of};
use crate::{pristine, sync};

/// A source that was found.
#[derive(Clone, Debug)]
pub struct ResolvedSource {
    /// The source as files have it.
    pub record: SourceRecord,
    /// The checkout. There is none if the crates come from the registry.
    pub(super) checkout: Option<Checkout>,
    /// The diffs that are applied to a copy, one after the other.
    pub(super) diffs: Vec<PatchRecord>,
}

impl ResolvedSource {
    pub(super) fn resolve(spec: &SourceSpec) -> Result<ResolvedSource> {
        let mut diffs = Vec::new();
        for file in &spec.diffs {
            const LONGEST: u64 = 64 << 20;
            if fs::metadata(file)?.len() > LONGEST {
                bail!(
                    "{}: longer than any diff (accepted: up to 64 MiB)",
                    file.display()
                );
            }
            diffs.push(PatchRecord {
                patch: fs::canonicalize(file)?.display().to_string(),
                sha256: Some(sha256_of_program(file)?),
            });
        }
        let (record, checkout) = match spec.origin.clone() {
            Origin::Registry(None) => (SourceRecord::Released, None),
            Origin::Registry(Some(version)) => (SourceRecord::Release { version }, None),
            Origin::Checkout(path, revision) => {
                let checkout = Checkout::resolve(&path, revision.as_deref())?;
                (checkout.record.clone(), Some(checkout))
            }
        };
        Ok(ResolvedSource {
            record,
            checkout,
            diffs,
        })
    }

    /// Resolves the source of a crate that comes from elsewhere. The nodes of the stack must depend on the crate.
    pub(super) fn resolve_layer(
        stack: &Stack,
        LayerSpec { name, source }: &LayerSpec,
    ) -> Result<ResolvedSource> {
        let lock = fs::read_to_string(ours::root()?.join("Cargo.lock"))?;
        let has_sites = sites_of(name).next().is_some();
        let is_of_another = has_sites && !stack.packages.contains(&&**name);
        if is_of_another || !lock.contains(&format!("name = \"{name}\"\n")) {
            bail!("nodes of {} do not depend on a crate {name}", stack.name);
        }
        ResolvedSource::resolve(source)
    }

    /// The crates with sites of this release that the diffs change, each with its diffs.
    pub(super) fn changed_crates(&self, stack: &Stack) -> Result<Vec<(String, ResolvedSource)>> {
        if self.diffs.is_empty() {
            return Ok(Vec::new());
        }
        let dir = tempfile::tempdir().context("cannot make a temporary folder")?;
        let copies = self
            .registry_crates(stack)?
            .iter()
            .map(|source| copy_crate(source, &dir.path().join(&source.name)))
            .collect::<Result<Vec<_>>>()?;
        let mut changed = BTreeMap::new();
        for diff in &self.diffs {
            let fits =
                |source: &&CrateDir| git::apply(&source.dir, &diff.patch, &["--check"]).is_ok();
            let fitting: Vec<_> = copies.iter().filter(fits).collect();
            let [one] = &fitting[..] else {
                bail!(
                    "{} applies to {} of {} (accepted: a diff of one of them with paths such as a/src/lib.rs; \
                     released+CRATE=released+FILE names the crate, and says why the diff does not apply)",
                    diff.patch,
                    if fitting.is_empty() {
                        "none"
                    } else {
                        "several"
                    },
                    stack.packages.join(", ")
                );
            };
            git::apply(&one.dir, &diff.patch, &[])?;
            let unchanged = || {
                let mut source = self.clone();
                source.diffs.clear();
                if let SourceRecord::Release { version } = &mut source.record {
                    version.clone_from(&one.version);
                }
                source
            };
            let source = changed.entry(one.name.clone()).or_insert_with(unchanged);
            source.diffs.push(diff.clone());
        }
        Ok(changed.into_iter().collect())
    }

    /// The version, if the source is a release and not the version of our lock file.
    pub(super) fn release(&self) -> Option<&str> {
        match &self.record {
            SourceRecord::Release { version } => Some(version),
            _ => None,
        }
    }

    /// Copies the checkout, or the crate `name` of the registry, to the new folder `to`, and applies the diffs.
    pub(super) fn copy(&self, name: &str, to: &Path, edits: &mut Edits) -> Result<()> {
        match &self.checkout {
            Some(checkout) => checkout.export(to)?,
            None => drop(copy_crate(&registry_crate(name, self.release())?, to)?),
        }
        for PatchRecord { patch, .. } in &self.diffs {
            let changed = git::apply(to, patch, &["--numstat", "-z"])?;
            // Before each name are the numbers of added and of removed lines.
            for name in changed
                .split('\0')
                .filter_map(|file| file.splitn(3, '\t').nth(2))
            {
                edits.begin(to.join(name));
            }
            git::apply(to, patch, &[])?;
        }
        Ok(())
    }

    /// The names and versions of the crates that our manifest asks for in another version because of a release.
    pub(super) fn versions(&self) -> Result<Vec<(String, String)>> {
        let Some(version) = self.release() else {
            return Ok(Vec::new());
        };
        let stream = ours::stream_release(version)?;
        Ok(vec![
            ("libp2p".to_owned(), version.to_owned()),
            ("libp2p-stream".to_owned(), stream.to_owned()),
        ])
    }

    /// The crates with sites of the release, from the registry. A checkout has none.
    pub(super) fn registry_crates(&self, stack: &Stack) -> Result<Vec<CrateDir>> {
        match self.release() {
            _ if self.checkout.is_some() => Ok(Vec::new()),
            None => pristine::find(&upstream_manifest(), stack.packages),
            Some(version) => {
                let features = "[\"macros\", \"quic\", \"tokio\", \"yamux\"]";
                release_crates(stack.name, version, features, stack.packages)
            }
        }
    }
}

pub(crate) fn copy_crate(source: &CrateDir, to: &Path) -> Result<CrateDir> {
    sync::folder(&source.dir, to)?;
    // This file would say that cargo unpacked the crate there.
    let _ = fs::remove_file(to.join(".cargo-ok"));
    CrateDir::new(&source.name, &source.version, to.to_owned())
}

/// A crate of the registry, in this version or else in the version of the lock file.
fn registry_crate(name: &str, version: Option<&str>) -> Result<CrateDir> {
    let found = match version {
        Some(version) => release_crates(name, version, "[]", &[name])?,
        None => {
            let manifest = match sites_of(name).next() {
                Some(_) => upstream_manifest(),
                None => ours::root()?.join("Cargo.toml"),
            };
            newest(pristine::find(&manifest, &[name])?)
        }
    };
    let first = found.into_iter().next();
    first.with_context(|| format!("there is no {name}"))
}

/// The `packages` among a release of the crate `name` and its dependencies, which cargo resolves.
fn release_crates(
    name: &str,
    version: &str,
    features: &str,
    packages: &[&str],
) -> Result<Vec<CrateDir>> {
    let dir = tempfile::tempdir().context("cannot make a temporary folder")?;
    let manifest = dir.path().join("Cargo.toml");
    let requirement = ours::requirement(version);
    let text = format!(
        "[workspace]\n[package]\nname = \"release\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [lib]\npath = \"nothing-is-built-here.rs\"\n\
         [dependencies]\n{name} = {{ version = \"{requirement}\", features = {features} }}\n"
    );
    fs::write(&manifest, text)?;
    // This writes the lock file.
    compiler::metadata(dir.path(), &[]).with_context(|| format!("released@{version}"))?;
    Ok(newest(pristine::find(&manifest, packages)?))
}

/// Keeps only the newest version of each crate, which is the one that a stack uses by default.
pub(super) fn newest(mut sources: Vec<CrateDir>) -> Vec<CrateDir> {
    let number = |source: &CrateDir| Version::parse(&source.version).ok();
    sources.sort_by_key(|source| (source.name.clone(), Reverse(number(source))));
    sources.dedup_by(|later, first| later.name == first.name);
    sources
}

/// All packages of the crate or workspace in `dir`.
pub(super) fn packages_in(dir: &Path) -> Result<Vec<CrateDir>> {
    let manifest = dir.join("Cargo.toml");
    if !manifest.is_file() {
        bail!("there is no Cargo.toml in it");
    }
    let path = manifest.display().to_string();
    // Cargo runs in our folder, because a toolchain file in `dir` would take effect there.
    let metadata = compiler::metadata(&ours::root()?, &["--no-deps", "--manifest-path", &path])?;
    let packages = metadata
        .packages
        .iter()
        .map(CrateDir::from_package)
        .collect::<Result<Vec<_>>>()?;
    refuse_other_patches(&read_toml(&manifest)?, &packages)?;
    Ok(packages)
}

/// Refuses a checkout whose `[patch]` replaces crates that are not its own packages. Cargo applies `[patch]` only in the
/// workspace that it builds, which is ours. The checkout's own packages replace those of the registry in any case.
fn refuse_other_patches(manifest: &DocumentMut, packages: &[CrateDir]) -> Result<()> {
    let patches = manifest.get("patch").and_then(Item::as_table_like);
    let replaced = patches
        .into_iter()
        .flat_map(|patches| patches.iter())
        .filter_map(|(_, registry)| registry.as_table_like())
        .flat_map(|registry| registry.iter());
    for (name, _) in replaced {
        if !packages.iter().any(|package| package.name == name) {
            bail!(
                "its [patch] of {name} would have no effect, since {name} is not one of its packages"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_that_would_be_lost_is_refused() {
        let own = CrateDir {
            name: "libp2p-identity".to_owned(),
            version: String::new(),
            dir: Default::default(),
            checksum: None,
        };
        let packages = [own];
        let refused = |text: &str| {
            let manifest = text.parse().expect("a manifest");
            refuse_other_patches(&manifest, &packages).map_err(|error| error.to_string())
        };
        let own = "[patch.crates-io]\nlibp2p-identity = { path = \"identity\" }\n";
        assert_eq!(refused(own), Ok(()));
        assert_eq!(refused("[workspace]\n"), Ok(()));
        let other = format!("{own}yamux = {{ git = \"https://example.org\" }}\n");
        let refusal = refused(&other).expect_err("it is another");
        assert!(refusal.starts_with("its [patch] of yamux would have no effect"));
    }
}
