//! A crate of a subject that comes from elsewhere than the stack and the lock file.

use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;
use fs_err as fs;
use run_format::PatchRecord;
use run_format::checksums::of_program;
use toml_edit::{DocumentMut, Item};

use super::source::{StackSource, of_crate};
use super::source_spec::PatchSpec;
use super::spec::LayerSpec;
use super::{compiler, git, ours};
use crate::checkout::Edit;
use crate::crate_source::CrateSource;
use crate::stacks::{LIBP2P, STACKS, Stack};
use crate::sync;

/// Another source of one crate.
#[derive(Clone, Debug)]
pub struct Layer {
    pub(super) name: String,
    pub(super) source: StackSource,
    /// The diff that is applied to a copy.
    pub(super) diff: Option<PatchRecord>,
}

impl Layer {
    pub(super) fn resolve(stack: &Stack, spec: &LayerSpec) -> Result<Layer> {
        let name = &spec.name;
        let has = |stack: &Stack| stack.packages.contains(&&**name);
        let lock = fs::read_to_string(ours::root()?.join("Cargo.lock"))?;
        let is_of_another = STACKS.into_iter().any(has) && !has(stack);
        if is_of_another || !lock.contains(&format!("name = \"{name}\"\n")) {
            bail!("nodes of {} do not depend on a crate {name}", stack.name);
        }
        if spec.source.budgets().is_some() && !has(&LIBP2P) {
            bail!("no budget changes {name}");
        }
        Ok(Layer {
            name: name.clone(),
            source: StackSource::resolve(&spec.source.origin)?,
            diff: diff(spec.source.patch.as_ref())?,
        })
    }

    /// The crate with sites, of the release, to which a diff applies.
    pub(super) fn of_diff(
        stack: &Stack,
        release: &StackSource,
        diff: PatchRecord,
    ) -> Result<Layer> {
        let mut crates = release.of_registry(stack)?;
        crates.retain(|it| git::check(&it.dir, Path::new(&diff.patch)).is_ok());
        let [of] = &crates[..] else {
            bail!(
                "{} applies to {} of {} (accepted: a diff of one of them with paths such as a/src/lib.rs; \
                 released+CRATE=released+FILE names the crate, and says why the diff does not apply)",
                diff.patch,
                if crates.is_empty() { "none" } else { "several" },
                stack.packages.join(", ")
            );
        };
        Ok(Layer {
            name: of.name.clone(),
            source: match release {
                StackSource::Registry(Some(_)) => StackSource::Registry(Some(of.version.clone())),
                other => other.clone(),
            },
            diff: Some(diff),
        })
    }

    /// Copies the crate, or the checkout that has it, to the new folder `to`, and applies the diff. Returns the crate, and
    /// what the diff changed.
    pub(super) fn copy(&self, to: &Path) -> Result<(CrateSource, Vec<Edit>)> {
        match &self.source {
            StackSource::Checkout(checkout) => checkout.export(to)?,
            StackSource::Registry(version) => {
                copy(&of_crate(&self.name, version.as_deref())?, to)?;
            }
        }
        let edits = apply(to, self.diff.as_ref())?;
        let mut packages = packages(to)?;
        packages.retain(|it| it.name == self.name);
        let missing = || format!("there is no package {} in it", self.name);
        Ok((packages.pop().with_context(missing)?, edits))
    }
}

/// The diff, if the change is one.
pub(super) fn diff(patch: Option<&PatchSpec>) -> Result<Option<PatchRecord>> {
    let Some(PatchSpec::File(file)) = patch else {
        return Ok(None);
    };
    Ok(Some(PatchRecord {
        patch: fs::canonicalize(file)?.display().to_string(),
        sha256: Some(of_program(file)?),
    }))
}

/// Applies the diff, if there is one, to a copy.
pub(super) fn apply(copy: &Path, diff: Option<&PatchRecord>) -> Result<Vec<Edit>> {
    let apply = |diff: &PatchRecord| git::apply(copy, Path::new(&diff.patch));
    diff.map_or(Ok(Vec::new()), apply)
}

pub(crate) fn copy(source: &CrateSource, to: &Path) -> Result<CrateSource> {
    sync::folder(&source.dir, to)?;
    // This file says that cargo unpacked the crate there, which is not so.
    let _ = fs::remove_file(to.join(".cargo-ok"));
    CrateSource::new(&source.name, &source.version, to.to_owned())
}

/// All packages of the crate or workspace in `dir`.
pub(super) fn packages(dir: &Path) -> Result<Vec<CrateSource>> {
    let manifest = dir.join("Cargo.toml");
    if !manifest.is_file() {
        bail!("there is no Cargo.toml in it");
    }
    let metadata = MetadataCommand::new()
        .cargo_path(compiler::cargo_path())
        // Not in `dir`, since a toolchain file there would take effect.
        .current_dir(ours::root()?)
        .manifest_path(manifest)
        .no_deps()
        .exec()
        .map_err(|error| compiler::in_short(&error))?;
    let packages = metadata.packages.iter().map(CrateSource::of_package);
    let packages = packages.collect::<Result<Vec<_>>>()?;
    refuse_other_patches(&fs::read_to_string(dir.join("Cargo.toml"))?, &packages)?;
    Ok(packages)
}

/// A workspace may replace crates of the registry by `[patch]`. Cargo applies that only in the workspace
/// that it builds, which is ours. The workspace's own packages are replaced in any case.
fn refuse_other_patches(manifest: &str, packages: &[CrateSource]) -> Result<()> {
    let manifest: DocumentMut = manifest.parse().context("not a manifest")?;
    let registries = manifest.get("patch").and_then(Item::as_table_like);
    let patches = registries
        .into_iter()
        .flat_map(|registries| registries.iter())
        .filter_map(|(_, patches)| patches.as_table_like())
        .flat_map(|patches| patches.iter());
    for (name, _) in patches {
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
        let own = CrateSource {
            name: "libp2p-identity".to_owned(),
            version: String::new(),
            dir: Default::default(),
            checksum: None,
        };
        let packages = [own];
        let own = "[patch.crates-io]\nlibp2p-identity = { path = \"identity\" }\n";
        assert!(refuse_other_patches(own, &packages).is_ok());
        assert!(refuse_other_patches("[workspace]\n", &packages).is_ok());
        let other = format!("{own}yamux = {{ git = \"https://example.org\" }}\n");
        let refusal = refuse_other_patches(&other, &packages).expect_err("it is another");
        assert!(
            refusal
                .to_string()
                .starts_with("its [patch] of yamux would have no effect")
        );
    }
}
