//! The crates of a subject, and which of them have sites.

use std::{fs, path::Path, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;
use toml_edit::{DocumentMut, Item};

use super::{
    Libp2p, Subject, compiler,
    ours::{self, Versions},
};
use crate::{
    checkout, crate_source::CrateSource, package::upstream_manifest, pristine, sites::PACKAGES,
};

/// The folder of a copy of libp2p.
pub(super) const UPSTREAM: &str = "upstream";
/// The folder of a copy of yamux.
pub(super) const YAMUX: &str = "yamux";

/// A package of a checkout.
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) dir: PathBuf,
}

/// All packages of the crate or workspace in `dir`.
pub(super) fn packages(dir: &Path) -> Result<Vec<Package>> {
    let manifest = dir.join("Cargo.toml");
    if !manifest.is_file() {
        bail!("there is no Cargo.toml in it");
    }
    let metadata = MetadataCommand::new()
        .cargo_path(compiler::cargo_path())
        // Not in it, lest a toolchain file there decide.
        .current_dir(ours::root()?)
        .manifest_path(manifest)
        .no_deps()
        .exec()
        .map_err(|error| compiler::in_short(&error))?;
    let package = |package: cargo_metadata::Package| Package {
        dir: package
            .manifest_path
            .parent()
            .map(Into::into)
            .unwrap_or_default(),
        version: package.version.to_string(),
        name: package.name.to_string(),
    };
    let packages: Vec<Package> = metadata.packages.into_iter().map(package).collect();
    refuse_other_patches(&fs::read_to_string(dir.join("Cargo.toml"))?, &packages)?;
    Ok(packages)
}

/// A workspace may put a crate in the place of the registry's, which cargo heeds in the workspace that it
/// builds only. Those of its own packages are put there in any case.
fn refuse_other_patches(manifest: &str, packages: &[Package]) -> Result<()> {
    let manifest: DocumentMut = manifest.parse().context("no manifest")?;
    let registries = manifest.get("patch").and_then(Item::as_table_like);
    let patches = registries
        .into_iter()
        .flat_map(|registries| registries.iter())
        .filter_map(|(_, patches)| patches.as_table_like())
        .flat_map(|patches| patches.iter());
    for (name, _) in patches {
        if !packages.iter().any(|package| package.name == name) {
            bail!("its [patch] of {name} would be lost: {name} is no package of it");
        }
    }
    Ok(())
}

/// Of what our workspace asks for.
pub(super) fn versions(packages: &[Package]) -> Result<Versions> {
    Ok(Versions {
        libp2p: version(packages, "libp2p")?,
        stream: version(packages, "libp2p-stream")?,
    })
}

fn version(packages: &[Package], name: &str) -> Result<String> {
    match packages.iter().find(|package| package.name == name) {
        Some(package) => Ok(package.version.clone()),
        None => bail!("there is no package {name} in it"),
    }
}

/// The crates with sites that the checkout in `dir` has.
pub(super) fn with_sites(dir: &Path, expected: &str) -> Result<Vec<CrateSource>> {
    let sources = checkout::find(dir)?;
    if !sources.iter().any(|source| source.name == expected) {
        bail!("there is no package {expected} in it");
    }
    Ok(sources)
}

/// The sources that a graft for the subject would edit. Copies of checkouts go to the empty folder `to`.
pub fn sources(subject: &Subject, to: &Path) -> Result<Vec<CrateSource>> {
    let mut sources = match &subject.libp2p {
        Libp2p::Released => of_lock_file()?,
        Libp2p::Release(version) => of_release(version, to)?,
        Libp2p::Checkout(checkout) => {
            let copy = to.join(UPSTREAM);
            checkout.export(&copy)?;
            with_sites(&copy, "libp2p-swarm").with_context(|| checkout.spec().to_string())?
        }
    };
    if let Some(yamux) = &subject.yamux {
        let copy = to.join(YAMUX);
        yamux.export(&copy)?;
        sources.retain(|source| source.name != "yamux");
        sources.extend(with_sites(&copy, "yamux").with_context(|| yamux.spec().to_string())?);
    }
    Ok(sources)
}

/// A manifest without the dependencies that only wasm has. Some of them are pinned, and cargo would bend
/// the versions of everything else to them. Where a feature names one, they stay.
pub(super) fn without_wasm(manifest: &str) -> Result<String> {
    let mut manifest: DocumentMut = manifest.parse().context("no manifest")?;
    let features = manifest.get("features").map(ToString::to_string);
    let features = features.unwrap_or_default();
    if let Some(targets) = manifest.get_mut("target").and_then(Item::as_table_like_mut) {
        let is_superfluous = |(target, table): &(&str, &Item)| {
            let dependencies = table.get("dependencies").and_then(Item::as_table_like);
            let mut names = dependencies.into_iter().flat_map(|table| table.iter());
            target.contains("wasm")
                && !target.contains("not(")
                && names.all(|(name, _)| !features.contains(name))
        };
        let superfluous: Vec<String> = targets
            .iter()
            .filter(is_superfluous)
            .map(|(target, _)| target.to_owned())
            .collect();
        for target in superfluous {
            targets.remove(&target);
        }
    }
    Ok(manifest.to_string())
}

/// The crates with sites of the release that our lock file names.
pub(super) fn of_lock_file() -> Result<Vec<CrateSource>> {
    pristine::find(&upstream_manifest(), &PACKAGES)
}

/// Those of another release, which cargo looks up in the folder `to`.
pub(super) fn of_release(version: &str, to: &Path) -> Result<Vec<CrateSource>> {
    let manifest = to.join("Cargo.toml");
    let text = format!(
        "[workspace]\n[package]\nname = \"release\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [lib]\npath = \"nothing-is-built-here.rs\"\n\
         [dependencies]\nlibp2p = {{ version = \"{version}\", features = [\"macros\", \"tokio\", \"yamux\"] }}\n"
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
    Ok(newest(pristine::find(&manifest, &PACKAGES)?))
}

/// Where there are several versions of one crate, the newest is the one that libp2p uses unasked.
pub(super) fn newest(mut sources: Vec<CrateSource>) -> Vec<CrateSource> {
    let number = |source: &CrateSource| -> Vec<u64> {
        let parts = source.version.split(['.', '-', '+']);
        parts.map_while(|part| part.parse().ok()).collect()
    };
    sources.sort_by_key(|source| (source.name.clone(), std::cmp::Reverse(number(source))));
    sources.dedup_by(|later, first| later.name == first.name);
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_that_would_be_lost_is_refused() {
        let own = Package {
            name: "libp2p-identity".to_owned(),
            version: String::new(),
            dir: PathBuf::new(),
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
                .starts_with("its [patch] of yamux would be lost")
        );
    }

    #[test]
    fn what_only_wasm_needs_goes_unless_a_feature_names_it() {
        let native = "[target.'cfg(not(target_family = \"wasm\"))'.dependencies]\ntokio = \"1\"\n";
        let wasm = "[target.'cfg(target_family=\"wasm\")'.dependencies]\njs = \"=1.0.0\"\n";
        let without = |manifest: &str| without_wasm(manifest).expect("a manifest");
        assert_eq!(without(&format!("{native}{wasm}")), native);
        let named = format!("{native}{wasm}[features]\nwasm = [\"dep:js\"]\n");
        assert_eq!(without(&named), named);
        assert_eq!(without("[package]\n"), "[package]\n");
    }
}
