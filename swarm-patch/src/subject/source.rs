//! Where the crates of a stack come from: the registry, or a checkout.

use std::cmp::Reverse;
use std::process::Command;

use anyhow::{Context, Result, bail};
use cargo_metadata::semver::Version;
use fs_err as fs;
use run_format::SourceRecord;

use super::checkout::Checkout;
use super::source_spec::Origin;
use super::{compiler, ours};
use crate::crate_source::CrateSource;
use crate::package::upstream_manifest;
use crate::pristine;
use crate::stacks::{STACKS, Stack};

#[derive(Clone, Debug)]
pub enum StackSource {
    /// The release of that version, or the one in our lock file.
    Registry(Option<String>),
    Checkout(Box<Checkout>),
}

impl StackSource {
    pub(super) fn resolve(origin: &Origin) -> Result<StackSource> {
        Ok(match origin {
            Origin::Registry(version) => StackSource::Registry(version.clone()),
            Origin::Checkout(path, revision) => {
                let checkout = Checkout::resolve(path, revision.as_deref())?;
                StackSource::Checkout(Box::new(checkout))
            }
        })
    }

    pub fn record(&self) -> SourceRecord {
        match self {
            StackSource::Registry(None) => SourceRecord::Released,
            StackSource::Registry(Some(version)) => SourceRecord::Release {
                version: version.clone(),
            },
            StackSource::Checkout(checkout) => checkout.record.clone(),
        }
    }

    /// The crates with sites that the registry has; none of a checkout.
    pub(super) fn of_registry(&self, stack: &Stack) -> Result<Vec<CrateSource>> {
        match self {
            StackSource::Registry(None) => pristine::find(&upstream_manifest(), stack.packages),
            StackSource::Registry(Some(version)) => {
                let features = "[\"macros\", \"quic\", \"tokio\", \"yamux\"]";
                of_release(stack.name, version, features, stack.packages)
            }
            StackSource::Checkout(_) => Ok(Vec::new()),
        }
    }
}

/// One crate of the registry, of the version in the lock file unless another is asked for.
pub(super) fn of_crate(name: &str, version: Option<&str>) -> Result<CrateSource> {
    let found = match version {
        Some(version) => of_release(name, version, "[]", &[name])?,
        None => {
            let is_grafted = STACKS.iter().any(|it| it.packages.contains(&name));
            let manifest = match is_grafted {
                true => upstream_manifest(),
                false => ours::root()?.join("Cargo.toml"),
            };
            newest(pristine::find(&manifest, &[name])?)
        }
    };
    let mut found = found.into_iter();
    found.next().with_context(|| format!("there is no {name}"))
}

/// Those crates that a release of a crate depends on, or is. Cargo resolves it.
fn of_release(
    name: &str,
    version: &str,
    features: &str,
    packages: &[&str],
) -> Result<Vec<CrateSource>> {
    let dir = tempfile::tempdir().context("cannot make a temporary folder")?;
    let manifest = dir.path().join("Cargo.toml");
    let requirement = ours::requirement(version);
    let text = format!(
        "[workspace]\n[package]\nname = \"release\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [lib]\npath = \"nothing-is-built-here.rs\"\n\
         [dependencies]\n{name} = {{ version = \"{requirement}\", features = {features} }}\n"
    );
    fs::write(&manifest, text)?;
    let locked = Command::new(compiler::cargo_path())
        .args(["generate-lockfile", "--quiet", "--manifest-path"])
        .arg(&manifest)
        .output()
        .context("cannot run cargo")?;
    if !locked.status.success() {
        let said = String::from_utf8_lossy(&locked.stderr);
        bail!("released@{version}: {}", compiler::first_error(&said));
    }
    Ok(newest(pristine::find(&manifest, packages)?))
}

/// Keeps only the newest version of each crate, which is the one that a stack uses by default.
pub(super) fn newest(mut sources: Vec<CrateSource>) -> Vec<CrateSource> {
    let number = |source: &CrateSource| Version::parse(&source.version).ok();
    sources.sort_by_key(|source| (source.name.clone(), Reverse(number(source))));
    sources.dedup_by(|later, first| later.name == first.name);
    sources
}
