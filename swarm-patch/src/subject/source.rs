//! Where the crates of a stack come from: the registry, or a checkout.

use std::process::Command;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use run_format::subject::SourceRecord;

use super::checkout::Checkout;
use super::source_spec::Origin;
use super::{compiler, ours};
use crate::crate_source::CrateSource;
use crate::package::upstream_manifest;
use crate::pristine;
use crate::stacks::{STACKS, Stack};

/// The source of a stack, or of one crate.
#[derive(Clone, Debug)]
pub enum StackSource {
    /// The release in our lock file.
    Released,
    /// Another release, by its version.
    Release(String),
    /// A checkout.
    Checkout(Box<Checkout>),
}

impl StackSource {
    pub(super) fn resolve(origin: &Origin) -> Result<StackSource> {
        Ok(match origin {
            Origin::Released => StackSource::Released,
            Origin::Release(version) => StackSource::Release(version.clone()),
            Origin::Checkout(path, revision) => {
                let checkout = Checkout::resolve(path, revision.as_deref())?;
                StackSource::Checkout(Box::new(checkout))
            }
        })
    }

    /// Its description for files.
    pub fn record(&self) -> SourceRecord {
        match self {
            StackSource::Released => SourceRecord::Released,
            StackSource::Release(version) => SourceRecord::Release {
                version: version.clone(),
            },
            StackSource::Checkout(checkout) => checkout.record.clone(),
        }
    }

    /// The crates with sites that the registry has; none of a checkout.
    pub(super) fn of_registry(&self, stack: &Stack) -> Result<Vec<CrateSource>> {
        match self {
            StackSource::Released => pristine::find(&upstream_manifest(), stack.packages),
            StackSource::Release(version) => {
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
    let number = |source: &CrateSource| -> Vec<u64> {
        let parts = source.version.split(['.', '-', '+']);
        parts.map_while(|part| part.parse().ok()).collect()
    };
    sources.sort_by_key(|source| (source.name.clone(), std::cmp::Reverse(number(source))));
    sources.dedup_by(|later, first| later.name == first.name);
    sources
}
